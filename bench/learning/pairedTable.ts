/**
 * The table of a sweep's points: success at the end and over the run, with the differences from a reference point. Both have the same validation
 * episodes and seeds. Intervals are over instances.
 */
import { Result } from "effect";
import { BadInput } from "../../src/domain/Errors.ts";
import { mean } from "../../src/domain/Statistics.ts";
import { byNearest } from "../../src/support/text/nearest.ts";
import {
  differences,
  type Instances,
  intervalOver,
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
  readonly instances?: Instances;
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
  /** The point that the others are compared with, or null for the first one with a run. */
  readonly reference: string | null;
}

/** A run with its validations on the axis of the comparison, of which there are two or more. */
interface Curve extends Pick<PairedRun, "seed" | "seconds" | "instances"> {
  readonly points: readonly SpentOutcomes[];
}

/** The curve of a run, or why it cannot be compared. */
const curveOf = ({ records, validations, ...run }: PairedRun, over: string): Result.Result<Curve, string> => {
  if (validations.length < 2) return Result.fail("has no validation behind the one of its start");
  const points: SpentOutcomes[] = [];
  for (const validation of validations) {
    const at = validation.step === 0 ? 0 : records.find(({ step }) => step === validation.step)?.[over];
    if (at === undefined) return Result.fail(`has no ${over} at step ${validation.step}`);
    points.push({ at, outcomes: outcomes(validation) });
  }
  return Result.succeed({ ...run, points });
};

const end = ({ points }: Curve): readonly number[] => points.at(-1)!.outcomes;

/** Two runs of one seed. */
interface Pair {
  readonly before: Curve;
  readonly after: Curve;
}

/** A point of the sweep with the runs of the reference that share its seeds; the reference has none. */
interface Row {
  readonly name: string;
  readonly runs: readonly Curve[];
  readonly pairs: readonly Pair[];
}

const rowsOf = (points: readonly (readonly [string, readonly Curve[]])[], reference: string): readonly Row[] => {
  const references = points.find(([name]) => name === reference)?.[1] ?? [];
  return points.map(([name, runs]) => {
    const pairs = runs.flatMap((after) => {
      const before = references.find(({ seed }) => seed === after.seed);
      return before === undefined || name === reference ? [] : [{ before, after }];
    });
    return { name, runs, pairs };
  });
};

type Values = (run: Curve) => readonly number[];

const success = (runs: readonly Curve[], values: Values): string =>
  shown(intervalOver(runs[0]?.instances, overRuns(runs.map(values))));

const difference = (pairs: readonly Pair[], values: Values): string => {
  if (pairs.length === 0) return "";
  const before = overRuns(pairs.map((pair) => values(pair.before)));
  const after = overRuns(pairs.map((pair) => values(pair.after)));
  return shown(intervalOver(pairs[0]?.after.instances, differences(before, after)));
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
 * compared fails with `BadInput`, and so does a reference without a run.
 */
export const pairedRows = (
  points: RunsByPoint,
  comparison: Comparison,
): Result.Result<readonly (readonly string[])[], BadInput> =>
  Result.gen(function* () {
    const curves: (readonly [string, readonly Curve[]])[] = [];
    for (const [name, runs] of points) {
      const found: Curve[] = [];
      for (const run of runs) {
        const refused = (reason: string) =>
          new BadInput({ message: `the run of ${name} with seed ${run.seed} ${reason}` });
        found.push(yield* Result.mapError(curveOf(run, comparison.over), refused));
      }
      if (found.length > 0) curves.push([name, found]);
    }
    const names = curves.map(([name]) => name);
    const reference = comparison.reference ?? names[0] ?? "";
    if (comparison.reference !== null && !names.includes(reference)) {
      const message = `--reference ${reference}: no point with a run; nearest: ${byNearest(reference, names)[0]}`;
      return yield* Result.fail(new BadInput({ message }));
    }
    const budget = Math.min(...curves.flatMap(([, runs]) => runs.map(spent)));
    const columns = columnsOf(comparison, budget);
    return [
      columns.map(([title]) => title),
      ...rowsOf(curves, reference).map((row) => columns.map(([, cell]) => cell(row))),
    ];
  });
