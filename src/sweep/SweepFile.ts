/**
 * A sweep file: a run file, what all its runs have in common, and the points at which training is repeated under every seed. `grid` has an axis
 * for each key or named setting and gives every combination; `points` are further ones. Unknown keys are refused.
 */
import { Result, Schema } from "effect";
import { decode } from "../config/decode.ts";
import { field, folderName, whole } from "../config/field.ts";
import { byNearest } from "../config/nearest.ts";
import { shown } from "../config/shown.ts";
import { BadInput } from "../domain/Errors.ts";
import { catalogue, entryOf, nameOf } from "../domain/metrics/Catalogue.ts";
import { summaries } from "./summary.ts";

/** Full keys of a run file and their values. */
const Settings = Schema.Record(Schema.NonEmptyString, Schema.Unknown);
export type Settings = typeof Settings.Type;

/** A list of one key's values, or settings by their names. */
const Axis = Schema.Union([
  Schema.NonEmptyArray(Schema.Unknown).check(Schema.isMaxLength(1_000)),
  Schema.Record(folderName, Settings),
]);
export type Axis = typeof Axis.Type;

const Column = Schema.Struct({
  metric: Schema.NonEmptyString.annotate({ description: "A metric of docs/metrics.md." }),
  of: field(
    Schema.NonEmptyArray(Schema.Literals(Object.keys(summaries) as (keyof typeof summaries)[])),
    ["last", "best", "area"],
    "What of its curve: the last value, the greatest, the least, or the mean over the steps.",
  ),
});
export type Column = typeof Column.Type;

/** Seeds of a sweep are seeds of runs. */
const seed = whole(0, 1_000_000_000);

export const SweepFile = Schema.Struct({
  name: Schema.optionalKey(
    folderName.annotate({ description: "Folder of the sweep's runs, below run.dir; the file's name by default." }),
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
  metrics: field(
    Schema.NonEmptyArray(Column),
    [{ metric: "val-env/success" }, { metric: "train/success", of: ["last", "area"] }],
    "Columns of the table.",
  ),
  interval: field(
    Schema.Literals(["t", "bootstrap"]),
    "t",
    "95 % interval of a mean over seeds: Student's t, or the percentile bootstrap (too narrow below about ten seeds).",
  ),
});
export type SweepFile = typeof SweepFile.Type;

/** The columns whose metric the catalogue does not have. */
const unknownMetrics = ({ metrics }: SweepFile): readonly string[] => {
  const known = catalogue.flatMap(({ entries }) => entries.map(nameOf));
  return metrics.flatMap(({ metric }) =>
    entryOf(metric) === undefined
      ? [`metrics: ${shown(metric)}: no such metric; nearest: ${byNearest(metric, known)[0]}`]
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
    Result.flatMap(decode(SweepFile, tree), (file) => {
      const wrong = unknownMetrics(file);
      const twice = file.seeds.find((one, at) => file.seeds.indexOf(one) !== at);
      const problems = twice === undefined ? wrong : [...wrong, `seeds: ${twice} is listed twice`];
      return problems.length === 0 ? Result.succeed(file) : Result.fail(new BadInput({ message: problems.join("\n") }));
    }),
    prefixed,
  );
};
