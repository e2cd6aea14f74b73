/**
 * The table of a sweep's points: success at the end and over the run, with the differences from the first point. Both have the same instances
 * and seeds. Intervals are over instances.
 */
import { Result } from "effect";
import { BadInput } from "../../src/domain/Errors.ts";
import { bootstrap } from "../../src/domain/intervals.ts";
import { mean } from "../../src/domain/Statistics.ts";
import {
  differences,
  meanUpTo,
  outcomes,
  overRuns,
  percent,
  type SpentOutcomes,
  shown,
  type Validation,
} from "./pairing.ts";

/** One training run, as its record has it. */
export interface PairedRun {
  readonly seed: number;
  readonly seconds: number;
  /** Oldest first; the first is of the starting weights. */
  readonly validations: readonly Validation[];
  /** The metrics of each step. */
  readonly records: readonly Readonly<Record<string, number>>[];
}

/** The runs of each point that have a record, by the point's name. */
export type RunsByPoint = ReadonlyMap<string, readonly PairedRun[]>;

/** A table compares the end, and this beside it. */
export interface Comparison {
  /** The metric at equal amounts of which runs are compared. */
  readonly over: string;
  /** A share of success, or null for no column about it. */
  readonly until: number | null;
}

/** A run with its validations on the axis of the comparison, of which there are two or more. */
interface Curve {
  readonly seed: number;
  readonly seconds: number;
  readonly points: readonly SpentOutcomes[];
}

/** The curve of a run of the point. A run that cannot be compared fails. */
const curveOf = (
  { records, seconds, seed, validations }: PairedRun,
  point: string,
  over: string,
): Result.Result<Curve, BadInput> => {
  const refused = (reason: string) =>
    Result.fail(new BadInput({ message: `the run of ${point} with seed ${seed} ${reason}` }));
  if (validations.length < 2) return refused("has no validation behind the one of its start");
  const points: SpentOutcomes[] = [];
  for (const validation of validations) {
    const at = validation.step === 0 ? 0 : records.find(({ step }) => step === validation.step)?.[over];
    if (at === undefined) return refused(`has no ${over} at step ${validation.step}`);
    points.push({ at, outcomes: outcomes(validation) });
  }
  return Result.succeed({ seed, seconds, points });
};

const end = ({ points }: Curve): readonly number[] => points.at(-1)!.outcomes;

/** Two runs of one seed. */
interface Pair {
  readonly before: Curve;
  readonly after: Curve;
}

/** A point of the sweep with the runs of the first point that share its seeds; the first point has none. */
interface Row {
  readonly name: string;
  readonly runs: readonly Curve[];
  readonly pairs: readonly Pair[];
}

const rowsOf = (points: readonly (readonly [string, readonly Curve[]])[]): readonly Row[] =>
  points.map(([name, runs], index) => {
    const reference = index === 0 ? [] : points[0]![1];
    const pairs = runs.flatMap((after) => {
      const before = reference.find(({ seed }) => seed === after.seed);
      return before === undefined ? [] : [{ before, after }];
    });
    return { name, runs, pairs };
  });

type Values = (run: Curve) => readonly number[];

const success = (runs: readonly Curve[], values: Values): string => shown(bootstrap(overRuns(runs.map(values))));

const difference = (pairs: readonly Pair[], values: Values): string => {
  if (pairs.length === 0) return "";
  const before = overRuns(pairs.map((pair) => values(pair.before)));
  const after = overRuns(pairs.map((pair) => values(pair.after)));
  return shown(bootstrap(differences(before, after)));
};

/** The amount spent when a validation first reached the share of success. */
const spentUntil = ({ points }: Curve, share: number): string => {
  const reached = points.find((point) => mean(point.outcomes) >= share);
  return reached === undefined ? "never" : amount(reached.at);
};

/** The amount of a whole run, e.g. `2.97e6`. */
const spent = ({ points }: Curve): number => points.at(-1)!.at;

const amount = (value: number): string => value.toPrecision(3).replace(/e\+(\d+)$/, "e$1");

type Column = readonly [title: string, cell: (row: Row) => string];

const untilColumn = (over: string, share: number): Column => [
  `${over} until ${percent(share)} %`,
  ({ runs }) => runs.map((run) => spentUntil(run, share)).join(", "),
];

const totalColumn = (over: string): Column => [`${over} in all`, ({ runs }) => amount(mean(runs.map(spent)))];

const columnsOf = ({ over, until }: Comparison, budget: number): readonly Column[] => {
  /** Mean of each instance over what was spent behind the start: it rises with the end and with the speed. */
  const throughout: Values = ({ points }) => meanUpTo(budget, points);
  const title = over === "step" ? "over the run %" : `over equal ${over} %`;
  return [
    ["point", ({ name }) => name],
    ["seeds", ({ runs }) => runs.map(({ seed }) => seed).join(", ")],
    ["end %", ({ runs }) => success(runs, end)],
    ["difference, points", ({ pairs }) => difference(pairs, end)],
    ["each seed", ({ runs }) => runs.map((run) => percent(mean(end(run)))).join(", ")],
    [title, ({ runs }) => success(runs, throughout)],
    ["difference, points", ({ pairs }) => difference(pairs, throughout)],
    ...(over === "step" ? [] : [totalColumn(over)]),
    ...(until === null ? [] : [untilColumn(over, until)]),
    ["minutes", ({ runs }) => (mean(runs.map(({ seconds }) => seconds)) / 60).toFixed(1)],
  ];
};

/**
 * The table's rows of cells, the head first. Points without a run are left out, and differences where no seed is in both. A run that cannot be
 * compared fails with `BadInput`.
 */
export const pairedRows = (
  points: RunsByPoint,
  comparison: Comparison,
): Result.Result<readonly (readonly string[])[], BadInput> =>
  Result.gen(function* () {
    const curves: (readonly [string, readonly Curve[]])[] = [];
    for (const [name, runs] of points) {
      const found: Curve[] = [];
      for (const run of runs) found.push(yield* curveOf(run, name, comparison.over));
      if (found.length > 0) curves.push([name, found]);
    }
    const budget = Math.min(...curves.flatMap(([, runs]) => runs.map(spent)));
    const columns = columnsOf(comparison, budget);
    return [columns.map(([title]) => title), ...rowsOf(curves).map((row) => columns.map(([, cell]) => cell(row)))];
  });
