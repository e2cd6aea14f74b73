/**
 * Writes a report of runs: reads their folders and makes one HTML file. A run may still go on; the report shows its folder as it
 * is now.
 */
import { homedir } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { DateTime, Effect } from "effect";
import { BadInput } from "../../../domain/Errors.ts";
import { entryOf } from "../../../domain/metrics/Catalogue.ts";
import { replaceText } from "../../../support/files/AtomicWrite.ts";
import { packageRoot, version } from "../../../support/files/packageRoot.ts";
import type { MetricCard } from "../Api.ts";
import type { ReportData, ReportRun } from "../page/report/ReportData.ts";
import { type AttributeBottleneck, noAttribution } from "../store/RunSnapshot.ts";
import { RunStore } from "../store/RunStore.ts";
import { documentOf } from "./document.ts";
import { gatherRun } from "./gatherRun.ts";
import { type Redactor, redactorFor } from "./Redactor.ts";

export interface ReportOptions {
  /** Absolute paths of runs' folders. */
  readonly folders: readonly string[];
  /** Null: `report-NAME-TIME.html` after the first run, in the working folder. */
  readonly output: string | null;
  readonly attribute?: AttributeBottleneck;
}

export interface WrittenReport {
  readonly path: string;
  readonly bytes: number;
  readonly runs: readonly ReportRun[];
}

const idOf = (folder: string): string => `${basename(dirname(folder))}/${basename(folder)}`;

const metricsOf = (runs: readonly ReportRun[]): readonly MetricCard[] =>
  [...new Set(runs.flatMap(({ curves }) => curves.series.map(({ name }) => name)))].flatMap((name) => {
    const entry = entryOf(name);
    if (entry === undefined) return [];
    const { kind, meaning, unit } = entry;
    return [{ name, section: "", unit, kind, meaning }];
  });

const redactorOf = (folders: readonly string[]): Redactor =>
  redactorFor({
    env: process.env,
    folders: [homedir(), process.cwd(), packageRoot, ...folders, ...folders.map((folder) => dirname(dirname(folder)))],
  });

const read = (folder: string, redactor: Redactor, attribute: AttributeBottleneck) =>
  Effect.tryPromise({
    try: () => gatherRun(new RunStore({ id: idOf(folder), folder, attribute }), redactor),
    catch: (cause) =>
      new BadInput({
        message: `report: cannot read ${folder}: ${cause instanceof Error ? cause.message : String(cause)}`,
      }),
  });

export const writeReport = Effect.fnUntraced(function* ({ attribute = noAttribution, folders, output }: ReportOptions) {
  const distinct = [...new Set(folders)];
  const redactor = redactorOf(distinct);
  // Runs are read one after the other, because a run's episodes may take much memory.
  const runs = yield* Effect.forEach(distinct, (folder) => read(folder, redactor, attribute));
  const time = (yield* DateTime.now).epochMilliseconds;
  const data: ReportData = { written: time, version, metrics: metricsOf(runs), runs };
  const path = resolve(output ?? `report-${idOf(distinct[0] ?? "run").replaceAll("/", "-")}.html`);
  const text = documentOf(data);
  yield* replaceText(path, text).pipe(
    Effect.mapError(({ message }) => new BadInput({ message: `report: cannot write ${path}: ${message}` })),
  );
  const result: WrittenReport = { path, bytes: Buffer.byteLength(text), runs };
  return result;
});
