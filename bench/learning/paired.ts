/**
 * `node bench/learning/paired.ts SWEEP [--points TEXT] [--reference POINT] [--over METRIC] [--until SUCCESS]` prints success of a recorded
 * sweep's points as a Markdown table, with the differences from the reference, by default the first point.
 * `--points` takes the points whose names contain TEXT: name those that validate on the same environments. `--over` is what runs are compared
 * at equal amounts of: `step` by default, or a metric that grows, e.g. `ledger/tokens/admitted`. `--until` adds how much of it each seed took until a validation reached SUCCESS.
 */
import { join } from "node:path";
import { Effect } from "effect";
import { planOf } from "../../pipelines/sweepPlan.ts";
import { BadInput } from "../../src/domain/Errors.ts";
import { readArguments, refuse } from "../readArguments.ts";
import { pairedRows, type RunsByPoint } from "./pairedTable.ts";
import { recordsFolder } from "./record.ts";
import { type RecordedRun, recordedRuns } from "./sweepRecords.ts";

/** The records of each point whose name contains the text, in the sweep's order. */
const runsByPoint = (runs: readonly RecordedRun[], text: string): RunsByPoint => {
  const matching = runs.filter(({ run }) => run.point.name.includes(text));
  const grouped = Map.groupBy(matching, ({ run }) => run.point.name);
  return new Map([...grouped].map(([name, group]) => [name, group.flatMap(({ record }) => record ?? [])]));
};

/** The records of a sweep by point. A sweep without any fails. */
const recordsOf = Effect.fnUntraced(function* (name: string | undefined, text: string) {
  if (name === undefined) return yield* new BadInput({ message: "name a sweep, e.g. sampler" });
  const plan = yield* planOf(name, []);
  const folder = join(recordsFolder, plan.name);
  const points = runsByPoint(yield* Effect.fromResult(recordedRuns(plan, folder)), text);
  if ([...points.values()].some((runs) => runs.length > 0)) return points;
  if (points.size === 0) {
    const names = plan.points.map((point) => point.name).join("; ");
    return yield* new BadInput({ message: `--points ${text}: no point of ${name} has it in its name: ${names}` });
  }
  const which = text === "" ? "" : ` of a point with "${text}" in its name`;
  return yield* new BadInput({
    message: `${folder} has no record${which}; node bench/learning/sweep.ts ${name} trains`,
  });
});

/** The share that `--until` names, or null without one. */
const shareOf = (text: string | undefined): Effect.Effect<number | null, BadInput> => {
  if (text === undefined) return Effect.succeed(null);
  const share = Number(text);
  return share > 0 && share <= 1
    ? Effect.succeed(share)
    : Effect.fail(new BadInput({ message: `--until is a share of success, above 0 and at most 1: ${text}` }));
};

const { positionals, values } = readArguments({
  allowPositionals: true,
  options: {
    points: { type: "string", default: "" },
    reference: { type: "string" },
    over: { type: "string", default: "step" },
    until: { type: "string" },
  },
});
const program = Effect.gen(function* () {
  const until = yield* shareOf(values.until);
  const points = yield* recordsOf(positionals[0], values.points);
  const comparison = { over: values.over, until, reference: values.reference ?? null };
  const [titles, ...rows] = yield* Effect.fromResult(pairedRows(points, comparison));
  for (const cells of [titles!, titles!.map(() => "---"), ...rows]) console.log(`| ${cells.join(" | ")} |`);
});
await Effect.runPromise(Effect.catch(program, ({ message }) => Effect.sync(() => refuse(message))));
