/** Checks that `trainer.keep_best` names a metric of the catalogue, with one of the run's tags if it takes a tag. */
import { catalogue, entryOf, nameOf } from "../../domain/metrics/Catalogue.ts";
import { byNearest, distance } from "../../support/text/nearest.ts";
import { playedTags } from "../levels.ts";
import type { RunConfig } from "../RunConfig.ts";
import { showText, showValue } from "../show.ts";

/** Returns the catalogue's names with the run's splits, tags and sizes filled in; other parameters stay in braces. */
const metricNames = (config: RunConfig): readonly string[] => {
  const templates = catalogue.flatMap(({ entries }) => entries).map(nameOf);
  const ofSplit = (split: "val-env" | "train"): readonly string[] => {
    const side = split === "train" ? "train" : "val";
    const { group_size } = config.es_manager[side];
    const tags = playedTags(config, side);
    return templates
      .filter((name) => name.includes("{split}"))
      .map((name) => name.replace("{split}", split).replace("{size}", String(group_size)))
      .flatMap((name) => (name.includes("{tag}") ? tags.map((tag) => name.replace("{tag}", tag)) : [name]));
  };
  return [...ofSplit("val-env"), ...ofSplit("train"), ...templates.filter((name) => !name.includes("{split}"))];
};

/** Up to this edit distance an unknown name is a misspelling, not a number that an environment reports. */
const MAX_MISSPELLING = 2;

/** Names of numbers that an environment reports are known only once it is played, so plausible ones pass. */
const isReportedByEnvironment = (metric: string, names: readonly string[], nearest: string): boolean =>
  names.some((name) => name.endsWith("/{info}") && metric.startsWith(name.slice(0, -"{info}".length))) &&
  distance(metric, nearest) > MAX_MISSPELLING;

/** True for metrics whose names do not begin with a split. */
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
