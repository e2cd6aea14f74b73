/**
 * Collects the results of a sweep of evaluations: the metrics of each run, and success and return over the instances
 * of all seeds with intervals. It compares each point with the first that played the same environments. Invariant:
 * only equal instances are paired.
 */
import { Effect } from "effect";
import { parseObject } from "../src/support/files/readLines.ts";
import { type Contestant, comparison, obstacle, type Pair } from "../src/tools/evaluation/Comparison.ts";
import { legend, pairTable } from "../src/tools/evaluation/comparisonText.ts";
import { ofEpisodes, sorted } from "../src/tools/evaluation/contestants.ts";
import type { EvaluatedEpisode } from "../src/tools/evaluation/EvaluatedEpisode.ts";
import { readEpisodes, readPlan, summaryFile } from "../src/tools/evaluation/EvaluationFolder.ts";
import { byInstance, scoreOf } from "../src/tools/evaluation/Summary.ts";
import type { Interval } from "../src/tools/sweep/Interval.ts";
import type { Point } from "../src/tools/sweep/Point.ts";
import type { CellOverride, Curves, Head } from "../src/tools/sweep/Results.ts";
import { textIn } from "./sweepCurves.ts";
import { table } from "./table.ts";

/** The metrics of a finished evaluation, each as a curve of one value. */
export const valuesIn = (folder: string, isWanted: (metric: string) => boolean): Curves => {
  const values = parseObject(textIn(folder, summaryFile)) ?? {};
  const numbers = Object.entries(values).flatMap(([name, value]) =>
    typeof value === "number" && isWanted(name) ? [[name, [{ step: 0, value }]] as const] : [],
  );
  return new Map(numbers);
};

/** The finished evaluations of a point, all seeds together. */
export interface PointEvaluations {
  readonly point: Point;
  readonly episodes: readonly EvaluatedEpisode[];
  /** Versions of the environments that were played. */
  readonly environments: readonly string[];
}

export const evaluationsOfPoint = Effect.fnUntraced(function* (point: Point, folders: readonly string[]) {
  const episodes = yield* Effect.forEach(folders, readEpisodes);
  const plans = yield* Effect.forEach(folders, readPlan);
  const environments = [...new Set(plans.flatMap((plan) => (plan === null ? [] : [plan.versions.environment])))];
  const evaluated: PointEvaluations = { point, episodes: episodes.flatMap(sorted), environments };
  return evaluated;
});

/** Success and return, of all or of a preset: over instances, which are what other instances are expected to be like. */
const overInstances = (episodes: readonly EvaluatedEpisode[], { metric }: Head): Interval | null | undefined => {
  const [, tag, what] =
    /^val-env\/(?:(.+)\/)?(success|avg_episode_return)$/.exec(metric.replace("/charts/", "/")) ?? [];
  if (what === undefined) return undefined;
  const tagged = tag === undefined ? episodes : episodes.filter((episode) => episode.tag === tag);
  const score = scoreOf(tagged);
  const interval = what === "success" ? score.success : score.return;
  return interval === null ? null : { ...interval, values: byInstance(tagged).length };
};

/** The intervals of points that are no intervals over seeds. */
export const intervalsOverInstances = (evaluated: readonly PointEvaluations[]): CellOverride => {
  const byPoint = new Map(evaluated.map(({ episodes, point }) => [point, episodes]));
  return (point, head) => overInstances(byPoint.get(point) ?? [], head);
};

/** Points that played the same environments, in order; the first of each list is what the others are compared with. */
const comparable = (evaluated: readonly PointEvaluations[]): readonly (readonly Contestant[])[] => {
  const comparables = evaluated.filter(
    ({ environments, episodes }) => episodes.length > 0 && environments.length === 1,
  );
  return [...Map.groupBy(comparables, ({ environments }) => environments[0]).values()].map((samePlayed) => {
    const [first, ...others] = samePlayed.map(
      ({ episodes, point }): Contestant => ({ name: point.name, results: ofEpisodes(episodes) }),
    );
    return first === undefined ? [] : [first, ...others.filter((other) => obstacle(first, other) === null)];
  });
};

/** Each point less the first of those that played the same environments. */
export const pairsOf = (evaluated: readonly PointEvaluations[]): readonly Pair[] =>
  comparable(evaluated).flatMap((contestants) => comparison(contestants).pairs);

/** The pairs as tables, one for each point that others are compared with. */
export const pairLines = (pairs: readonly Pair[]): readonly string[] => {
  const groups = [...Map.groupBy(pairs, ({ against }) => against)];
  const tables = groups.flatMap(([against, againstOne]) => [
    "",
    `less ${against}:`,
    ...table(pairTable({ rows: [], pairs: againstOne })),
  ]);
  return tables.length === 0 ? [] : [...tables, "", legend];
};
