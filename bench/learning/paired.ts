/**
 * `node bench/learning/paired.ts SWEEP [--points TEXT]` prints success of a recorded sweep's points as a Markdown table, with the differences from the
 * first point. Both have the same instances and seeds. `--points` takes the points whose names contain TEXT. Intervals are over instances.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Effect } from "effect";
import { planOf } from "../../pipelines/sweepPlan.ts";
import { bootstrap } from "../../src/domain/intervals.ts";
import { mean } from "../../src/domain/Statistics.ts";
import { differences, outcomes, overRuns, percent, shown, type Validation } from "./pairing.ts";
import { recordsFolder } from "./record.ts";
import { type RecordedRun, recordedRuns } from "./sweepRecords.ts";

/** One training run, as its record has it. */
export interface PairedRun {
  readonly seed: number;
  readonly seconds: number;
  /** Oldest first; the first is of the starting weights. */
  readonly validations: readonly Validation[];
}

/** The runs of each point that have a record, by the point's name. */
export type RunsByPoint = ReadonlyMap<string, readonly PairedRun[]>;

const end = ({ validations }: PairedRun): readonly number[] => outcomes(validations.at(-1)!);

/** Mean of each instance over all validations but that of the starting weights: it rises with the end and with the speed. */
const throughout = ({ validations }: PairedRun): readonly number[] => overRuns(validations.slice(1).map(outcomes));

const head = [
  "point",
  "seeds",
  "end %",
  "difference, points",
  "each seed",
  "over the run %",
  "difference, points",
  "minutes",
];

/** The table's rows of cells, the head first. Points without a run are left out, and differences where no seed is in both. */
export const pairedRows = (points: RunsByPoint): readonly (readonly string[])[] => {
  const recorded = [...points].filter(([, runs]) => runs.length > 0);
  const reference = recorded[0]?.[1] ?? [];
  const rows = recorded.map(([name, runs], index) => {
    const pairs = runs.flatMap((run) => {
      const before = reference.find(({ seed }) => seed === run.seed);
      return before === undefined ? [] : [{ before, after: run }];
    });
    const differenceOf = (values: (run: PairedRun) => readonly number[]): string => {
      if (index === 0 || pairs.length === 0) return "";
      const before = overRuns(pairs.map((pair) => values(pair.before)));
      const after = overRuns(pairs.map((pair) => values(pair.after)));
      return shown(bootstrap(differences(before, after)));
    };
    return [
      name,
      runs.map(({ seed }) => seed).join(", "),
      shown(bootstrap(overRuns(runs.map(end)))),
      differenceOf(end),
      runs.map((run) => percent(mean(end(run)))).join(", "),
      shown(bootstrap(overRuns(runs.map(throughout)))),
      differenceOf(throughout),
      (mean(runs.map(({ seconds }) => seconds)) / 60).toFixed(1),
    ];
  });
  return [head, ...rows];
};

/** The records of each point whose name contains the text, in the sweep's order. */
const runsByPoint = (runs: readonly RecordedRun[], text: string): RunsByPoint => {
  const matching = runs.filter(({ run }) => run.point.name.includes(text));
  const grouped = Map.groupBy(matching, ({ run }) => run.point.name);
  return new Map([...grouped].map(([name, group]) => [name, group.flatMap(({ record }) => record ?? [])]));
};

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { points: { type: "string", default: "" } },
  });
  const program = Effect.gen(function* () {
    const plan = yield* planOf(positionals[0] ?? "", []);
    const runs = yield* Effect.fromResult(recordedRuns(plan, join(recordsFolder, plan.name)));
    const [titles, ...rows] = pairedRows(runsByPoint(runs, values.points));
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
