/** `millrace report`: writes one HTML file about runs, to send to someone. */
import { Effect } from "effect";
import type { ReportRun } from "../src/observe/watch/page/report/ReportData.ts";
import { writeReport as write } from "../src/observe/watch/report/writeReport.ts";
import { namedRun } from "./namedRun.ts";

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

const line = ({ card, counts, curves, groups }: ReportRun): string => {
  const left = counts.groupsLeftOut === 0 ? "" : `, ${counted(counts.groupsLeftOut, "group")} left out`;
  const episodes = groups.reduce((sum, { records }) => sum + new Set(records.map(({ member }) => member)).size, 0);
  return `${card.id}: ${counted(card.step, "step")}, ${counted(curves.series.length, "curve")}, ${episodes} of ${counted(counts.episodes, "recorded episode")}${left}`;
};

/** Writes the report; returns lines that report its path and size. */
export const report = Effect.fn("pipelines.report")(function* (options: {
  readonly runs: readonly string[];
  readonly output: string | null;
}) {
  const folders = yield* Effect.forEach(options.runs, (run) => namedRun("RUN", run));
  const { bytes, path, runs } = yield* write({ folders, output: options.output });
  return [...runs.map(line), `${path}: ${(bytes / 1e6).toFixed(1)} MB`];
});
