/** Checks the name of the metric that `trainer.keep_best` follows: of the catalogue, with a tag of the run where it has one. */
import { catalogue, entryOf, nameOf } from "../../domain/metrics/Catalogue.ts";
import { byNearest, distance } from "../nearest.ts";
import type { RunConfig } from "../RunConfig.ts";
import { showText, showValue } from "../show.ts";

/** Names of the catalogue with the run's splits, tags and sizes in their place; other parameters stay in braces. */
const metricNames = ({ es_manager }: RunConfig): readonly string[] => {
  const named = catalogue.flatMap(({ entries }) => entries).map(nameOf);
  const ofSplit = (split: "val-env" | "train"): readonly string[] => {
    const { group_size, tags } = split === "train" ? es_manager.train : es_manager.val;
    return named
      .filter((name) => name.includes("{split}"))
      .map((name) => name.replace("{split}", split).replace("{size}", String(group_size)))
      .flatMap((name) => (name.includes("{tag}") ? tags.map((tag) => name.replace("{tag}", tag)) : [name]));
  };
  return [...ofSplit("val-env"), ...ofSplit("train"), ...named.filter((name) => !name.includes("{split}"))];
};

/** A name this near to one of the catalogue is a misspelling of it, not a number that an environment reports. */
const MAX_MISSPELLING = 2;

/** What an environment reports of itself has a name that is known only once it is played. */
const isReportedByEnvironment = (metric: string, names: readonly string[], nearest: string): boolean =>
  names.some((name) => name.endsWith("/{info}") && metric.startsWith(name.slice(0, -"{info}".length))) &&
  distance(metric, nearest) > MAX_MISSPELLING;

/** Whether it is of a family whose names do not begin with a split. */
const isOfFamily = (metric: string): boolean => {
  const entry = entryOf(metric);
  return entry !== undefined && !nameOf(entry).startsWith("{");
};

export const bestMetric = (config: RunConfig): readonly string[] => {
  const { metric } = config.trainer.keep_best;
  if (metric === "") return [];
  const names = metricNames(config);
  const fixed = names.filter((name) => !name.includes("{"));
  const nearest = byNearest(metric, fixed)[0] ?? "val-env/success";
  if (fixed.includes(metric) || isOfFamily(metric) || isReportedByEnvironment(metric, names, nearest)) return [];
  return [
    `trainer.keep_best.metric: ${showValue(metric)} is no metric of this run (docs/metrics.md); nearest: ${showText(nearest)}`,
  ];
};
