/**
 * `node bench/learning/paired.ts SWEEP [--points TEXT] [--over METRIC] [--until SUCCESS]` prints success of a recorded sweep's points as a Markdown
 * table, with the differences from the first point. Both have the same instances and seeds. Intervals are over instances.
 * `--points` takes the points whose names contain TEXT. `--over` is what runs are compared at equal amounts of: `step` by default, or a metric that
 * grows, e.g. `ledger/tokens/admitted`. `--until` adds how much of it each seed took until a validation reached SUCCESS.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Effect } from "effect";
import { planOf } from "../../pipelines/sweepPlan.ts";
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
import { recordsFolder } from "./record.ts";
import { type RecordedRun, recordedRuns } from "./sweepRecords.ts";

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

/** The run's curve, or a sentence that says why it has none. */
const curveOf = ({ records, seconds, seed, validations }: PairedRun, over: string): Curve | string => {
  if (validations.length < 2) return "has no validation behind the one of its start";
  const points: SpentOutcomes[] = [];
  for (const validation of validations) {
    const at = validation.step === 0 ? 0 : records.find(({ step }) => step === validation.step)?.[over];
    if (at === undefined) return `has no ${over} at step ${validation.step}`;
    points.push({ at, outcomes: outcomes(validation) });
  }
  return { seed, seconds, points };
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
  return reached === undefined ? "never" : reached.at.toPrecision(3).replace(/e\+(\d+)$/, "e$1");
};

type Column = readonly [title: string, cell: (row: Row) => string];

const untilColumn = (over: string, share: number): Column => [
  `${over} until ${percent(share)} %`,
  ({ runs }) => runs.map((run) => spentUntil(run, share)).join(", "),
];

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
    ...(until === null ? [] : [untilColumn(over, until)]),
    ["minutes", ({ runs }) => (mean(runs.map(({ seconds }) => seconds)) / 60).toFixed(1)],
  ];
};

/**
 * The table's rows of cells, the head first. Points without a run are left out, and differences where no seed is in both. A run that cannot be
 * compared fails with `BadInput`.
 */
export const pairedRows = Effect.fnUntraced(function* (points: RunsByPoint, comparison: Comparison) {
  const curves: (readonly [string, readonly Curve[]])[] = [];
  for (const [name, runs] of points) {
    const found: Curve[] = [];
    for (const run of runs) {
      const curve = curveOf(run, comparison.over);
      if (typeof curve === "string") {
        return yield* new BadInput({ message: `the run of ${name} with seed ${run.seed} ${curve}` });
      }
      found.push(curve);
    }
    if (found.length > 0) curves.push([name, found]);
  }
  const budget = Math.min(...curves.flatMap(([, runs]) => runs.map(({ points }) => points.at(-1)!.at)));
  const columns = columnsOf(comparison, budget);
  return [columns.map(([title]) => title), ...rowsOf(curves).map((row) => columns.map(([, cell]) => cell(row)))];
});

/** The records of each point whose name contains the text, in the sweep's order. */
const runsByPoint = (runs: readonly RecordedRun[], text: string): RunsByPoint => {
  const matching = runs.filter(({ run }) => run.point.name.includes(text));
  const grouped = Map.groupBy(matching, ({ run }) => run.point.name);
  return new Map([...grouped].map(([name, group]) => [name, group.flatMap(({ record }) => record ?? [])]));
};

/** The share that `--until` names, or null without one. */
const shareOf = (text: string | undefined): Effect.Effect<number | null, BadInput> => {
  if (text === undefined) return Effect.succeed(null);
  const share = Number(text);
  return share > 0 && share <= 1
    ? Effect.succeed(share)
    : Effect.fail(new BadInput({ message: `--until is a share of success, above 0 and at most 1: ${text}` }));
};

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      points: { type: "string", default: "" },
      over: { type: "string", default: "step" },
      until: { type: "string" },
    },
  });
  const program = Effect.gen(function* () {
    const until = yield* shareOf(values.until);
    const plan = yield* planOf(positionals[0] ?? "", []);
    const runs = yield* Effect.fromResult(recordedRuns(plan, join(recordsFolder, plan.name)));
    const [titles, ...rows] = yield* pairedRows(runsByPoint(runs, values.points), { over: values.over, until });
    const lines = [titles!, titles!.map(() => "---"), ...rows];
    for (const cells of lines) console.log(`| ${cells.join(" | ")} |`);
  });
  await Effect.runPromise(
    Effect.catch(program, ({ message }) =>
      Effect.sync(() => {
        console.error(message);
        process.exitCode = 2;
      }),
    ),
  );
}
