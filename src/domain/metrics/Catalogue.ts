/**
 * All metrics of a run, by where they come from. The console, the sinks and docs/metrics.md derive from it. Invariant: no two entries have
 * one name.
 */
import { analysis, collapse, gradients, gradientsPrefilter } from "./diagnostics.ts";
import { endings, episodes, lengths, ofTag, type Split } from "./episodes.ts";
import { filter } from "./filter.ts";
import { learner } from "./learner.ts";
import { type Family, type Metric, type MetricInfo, type MetricName, metric } from "./Metric.ts";
import {
  alarms,
  generation,
  ledger,
  remoteGeneration,
  remoteTraining,
  sampler,
  servers,
  stage,
  staleness,
  stepping,
  timing,
  tokens,
  weights,
  windows,
  workers,
} from "./run.ts";

/** A metric, or a family of metrics. */
export type CatalogueEntry = Metric | (MetricInfo & Pick<Family, "template">);

/** The metrics that one part of the engine measures. */
export interface Section<out E extends CatalogueEntry = CatalogueEntry> {
  readonly title: string;
  /** The part of the engine that measures them. */
  readonly source: string;
  readonly entries: readonly E[];
}

type EntriesOf<Group> = Group extends unknown ? Extract<Group[keyof Group], CatalogueEntry> : never;

const section = <const Groups extends readonly Readonly<Record<string, CatalogueEntry>>[]>(
  title: string,
  source: string,
  ...groups: Groups
): Section<EntriesOf<Groups[number]>> => ({
  title,
  source,
  // The values of the groups, in their order.
  entries: groups.flatMap((group) => Object.values(group)) as EntriesOf<Groups[number]>[],
});

const sections = [
  section("Episodes", "src/rollout/statistics.ts, of a window (`train`) or a validation (`val-env`)", episodes, ofTag),
  section("Endings", "src/rollout/endings.ts, of a window (`train`) or a validation (`val-env`)", {
    share: endings.share,
    failure: endings.failure,
  }),
  section("Lengths and staleness", "src/rollout/statistics.ts", lengths, staleness),
  section("Filter", "src/selection/filtering/FilterMetrics.ts", filter),
  section(
    "Learner",
    "src/learner/updateMetrics.ts, src/learner/PolicyUpdate.ts and src/learner/CriticUpdate.ts",
    learner,
  ),
  section("Collapse", "src/selection/diagnostics", collapse),
  section("Gradients by reward variance", "src/learner/analysis", gradients, gradientsPrefilter, analysis),
  section("Alarms", "src/rollout/alarms.ts, by src/domain/alarms", alarms),
  section("Windows", "src/engine/StepRecord.ts", windows, weights),
  section("Task sampler", "src/domain/TaskSampler.ts, of runs whose training plays presets with levels", sampler),
  section("Stages", "src/flow/Gauge.ts", stage),
  section("Step threads", "src/env/pool/StepThreads.ts, of this process", stepping),
  section("Generation", "src/generation, by the gauges of the generator threads", tokens, generation),
  section("Workers", "src/remote/workers, of this process, in runs with `pipeline.workers.url`", workers),
  section("Generation on servers", "src/remote/generation, of this process", remoteGeneration),
  section("Training on a server", "src/remote/tinker, of this process", remoteTraining),
  section("Servers", "src/flow/Servers.ts", servers),
  section("Ledger", "src/domain/Ledger.ts", ledger.groups, ledger.tokens),
  section("Time", "src/engine", timing),
] as const satisfies readonly Section[];

/** All metrics, by the part of the engine that measures them. */
export const catalogue: readonly Section[] = sections;

/** The names that a template stands for: any text in place of a parameter, but for the split. */
type Filled<Template extends string> = Template extends `${infer Before}{${infer Parameter}}${infer Behind}`
  ? `${Before}${Parameter extends "split" ? Split : string}${Filled<Behind>}`
  : Template;

type KeyOf<E> = E extends { readonly name: MetricName<infer Name> }
  ? Name
  : E extends { readonly template: infer Template extends string }
    ? Filled<Template>
    : never;

/** A key of `metrics.jsonl` that the catalogue has. A name outside of it does not compile; the tag of a preset is any text. */
export type MetricKey = KeyOf<(typeof sections)[number]["entries"][number]>;

/** The name of a metric, or the template of a family. */
export const nameOf = (entry: CatalogueEntry): string => ("name" in entry ? entry.name : entry.template);

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const splits: readonly Split[] = ["train", "val-env"];
const pattern = (template: string): RegExp => {
  const withSplits = escaped(template).replace("\\{split\\}", `(${splits.join("|")})`);
  return new RegExp(`^${withSplits.replace(/\\\{\w+\\\}/g, "([^/]+)")}$`);
};

const entries = catalogue.flatMap(({ entries }) => entries);
const byName = new Map(entries.map((entry) => [nameOf(entry), entry]));
const families = entries
  .filter((entry) => !("name" in entry))
  .map((entry) => ({ entry, pattern: pattern(nameOf(entry)), literal: nameOf(entry).replace(/\{\w+\}/g, "").length }))
  // `stage/{stage}/busy` fits `{split}/{tag}/{info}` too: the one that says more of the name counts.
  .sort((a, b) => b.literal - a.literal);

/** The entry of a key of `metrics.jsonl`; undefined where the catalogue has none. */
export const entryOf = (name: string): CatalogueEntry | undefined =>
  byName.get(name) ?? families.find(({ pattern }) => pattern.test(name))?.entry;

/** The metric of a key that the catalogue has. */
export const metricOf = (key: MetricKey): Metric => {
  const entry = entryOf(key);
  if (entry === undefined) throw new Error(`${key} is no metric of the catalogue`);
  return metric(key, entry.kind, entry.unit, entry.meaning);
};
