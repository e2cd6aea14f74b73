/**
 * A sweep file: a run file, what all its runs have in common, and the points at which training or an evaluation is repeated under every seed. `grid` has an axis
 * for each key or named setting and gives every combination; `points` are further ones. Unknown keys are refused.
 */
import { Result, Schema } from "effect";
import { decode } from "../../config/decode.ts";
import { field, folderName, whole } from "../../config/field.ts";
import { showValue } from "../../config/show.ts";
import { BadInput } from "../../domain/Errors.ts";
import { catalogue, entryOf, nameOf } from "../../domain/metrics/Catalogue.ts";
import { byNearest } from "../../support/text/nearest.ts";
import { type SummaryName, summaries } from "./summary.ts";

/** Full keys of a run file and their values. */
const Settings = Schema.Record(Schema.NonEmptyString, Schema.Unknown);
export type Settings = typeof Settings.Type;

/** A list of one key's values, or settings by their names. */
const Axis = Schema.Union([
  Schema.NonEmptyArray(Schema.Unknown).check(Schema.isMaxLength(1_000)),
  Schema.Record(folderName, Settings),
]);
export type Axis = typeof Axis.Type;

const Until = Schema.Struct({
  metric: Schema.NonEmptyString.annotate({ description: "Another metric of docs/metrics.md." }),
  value: Schema.Finite.annotate({ description: "What that metric must reach." }),
});
export type Until = typeof Until.Type;

const ColumnKeys = Schema.Struct({
  metric: Schema.NonEmptyString.annotate({ description: "A metric of docs/metrics.md." }),
  of: Schema.optionalKey(
    Schema.NonEmptyArray(Schema.Literals(Object.keys(summaries) as SummaryName[])).annotate({
      description:
        "What of its curve: the last value, the greatest, the least, or the mean over the steps. All but the least unless given; not for an evaluation, which has one value of each metric.",
    }),
  ),
  until: Schema.optionalKey(
    Until.annotate({
      description:
        "Instead of `of`: its value at the first step at which another metric has reached a value, such as the tokens until validation's success is 0.8. A run that never reaches it has none.",
    }),
  ),
});

/** The part of a metric's curve in a column: a summary, or its value when another metric has reached one. Null: the one value of an evaluation. */
export type Part = SummaryName | Until | null;

export const isUntil = (part: Part): part is Until => part !== null && typeof part === "object";

export interface Column {
  readonly metric: string;
  readonly of: readonly Part[];
}

/** Seeds of a sweep are seeds of runs. */
const seed = whole(0, 1_000_000_000);

export const SweepKeys = Schema.Struct({
  name: Schema.optionalKey(
    folderName.annotate({ description: "Folder of the sweep's runs, below run.dir; the file's name by default." }),
  ),
  command: field(
    Schema.Literals(["train", "evaluate"]),
    "train",
    "What a run does: it trains, or plays the validation as millrace evaluate does.",
  ),
  config: Schema.NonEmptyString.annotate({ description: "Run file in config/, or a path to one." }),
  overrides: field(Settings, {}, "Keys that every run has."),
  grid: field(
    Schema.Record(Schema.NonEmptyString, Axis),
    {},
    "Axes: a key with a list of its values, or any name with settings by their names. Every combination is a point.",
  ),
  points: field(Schema.Record(folderName, Settings), {}, "Points beside those of the grid, by their names."),
  seeds: field(
    Schema.NonEmptyArray(seed).check(Schema.isMaxLength(1_000)),
    [0],
    "Each point is run once for each seed.",
  ),
  seed_keys: field(
    Schema.NonEmptyArray(Schema.NonEmptyString),
    ["run.seed"],
    "Keys that take the seed. The instances of training have a key of their own, es_manager.train.seed.",
  ),
  metrics: Schema.optionalKey(
    Schema.NonEmptyArray(ColumnKeys).annotate({
      description:
        "Columns of the table; success in validation and training unless given, of an evaluation success and return.",
    }),
  ),
  interval: field(
    Schema.Literals(["t", "bootstrap"]),
    "t",
    "95 % interval of a mean over seeds: Student's t, or the percentile bootstrap (too narrow below about ten seeds).",
  ),
});
type SweepKeys = typeof SweepKeys.Type;

export interface SweepFile extends Omit<SweepKeys, "metrics"> {
  readonly metrics: readonly Column[];
}

const usual: Readonly<Record<SweepFile["command"], NonNullable<SweepKeys["metrics"]>>> = {
  train: [{ metric: "val-env/success" }, { metric: "train/success", of: ["last", "area"] }],
  evaluate: [{ metric: "val-env/success" }, { metric: "val-env/charts/avg_episode_return" }],
};

const completed = (keys: SweepKeys): SweepFile => ({
  ...keys,
  metrics: (keys.metrics ?? usual[keys.command]).map(({ metric, of = ["last", "best", "area"], until }) => ({
    metric,
    of: keys.command === "evaluate" ? [null] : until === undefined ? of : [until],
  })),
});

/** Columns that ask for a part of a curve where there is none, or for two. */
const wrongParts = ({ command, metrics }: SweepKeys): readonly string[] =>
  (metrics ?? []).flatMap(({ metric, of, until }) => {
    const parts = [...(of === undefined ? [] : ["of"]), ...(until === undefined ? [] : ["until"])];
    if (command === "evaluate" && parts.length > 0)
      return [
        `metrics: ${showValue(metric)}: ${parts.join(", ")}: an evaluation has one value of each metric; leave it out`,
      ];
    return parts.length > 1
      ? [`metrics: ${showValue(metric)}: of and until are two columns; list the metric twice`]
      : [];
  });

/** The columns whose metric the catalogue does not have. */
const unknownMetrics = ({ metrics }: SweepKeys): readonly string[] => {
  const names = catalogue.flatMap(({ entries }) => entries.map(nameOf));
  return (metrics ?? [])
    .flatMap(({ metric, until }) => [metric, ...(until === undefined ? [] : [until.metric])])
    .flatMap((metric) =>
      entryOf(metric) === undefined
        ? [`metrics: ${showValue(metric)}: no such metric; nearest: ${byNearest(metric, names)[0]}`]
        : [],
    );
};

/** Decodes the tree of a sweep file; every problem is named, with `origin` in front. */
export const read = (tree: unknown, origin: string): Result.Result<SweepFile, BadInput> => {
  const prefixed = ({ message }: BadInput) =>
    new BadInput({
      message: message
        .split("\n")
        .map((line) => `${origin}: ${line}`)
        .join("\n"),
    });
  return Result.mapError(
    Result.flatMap(decode(SweepKeys, tree), (file) => {
      const wrong = [...unknownMetrics(file), ...wrongParts(file)];
      const twice = file.seeds.find((one, at) => file.seeds.indexOf(one) !== at);
      const problems = twice === undefined ? wrong : [...wrong, `seeds: ${twice} is listed twice`];
      return problems.length === 0
        ? Result.succeed(completed(file))
        : Result.fail(new BadInput({ message: problems.join("\n") }));
    }),
    prefixed,
  );
};
