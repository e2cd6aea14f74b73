/**
 * What the autotuner reaches on five machines made with injected latencies, whose best fixed settings are found by search in virtual time: the
 * whole engine over a null model on a virtual clock, from too few and from too many slots. Throughput over that of the best fixed setting on the
 * same engine and seed, after the first minute and after a shift; changes a minute once settled.
 */
import { Effect } from "effect";
import type { Control } from "../src/domain/Control.ts";
import { mean } from "../src/domain/Statistics.ts";
import { run as simulate } from "../src/simulation/run.ts";
import * as Dials from "../src/stage/Dials.ts";
import * as autotuner from "../src/tuning/autotuner.ts";
import type { Bench, Figure } from "./Bench.ts";
import {
  type Concurrency,
  callTime,
  groupSize,
  groups,
  knobs,
  LENGTH,
  type Machine,
  MINUTE,
  machines,
  maxStaleness,
  shapeOf,
  starts,
  turns,
} from "./machines.ts";
import { engineRun, type NullRun } from "./nullRun.ts";
import { inVirtualTime } from "./virtualClock.ts";

const SEEDS = [1, 2, 3];

/** Windows per second between two times. */
const pace = (consumedAt: readonly number[], from: number, to: number): number => {
  const within = consumedAt.filter((at) => at >= from && at < to);
  return within.length < 2 ? 0 : (1000 * (within.length - 1)) / (within.at(-1)! - within[0]!);
};

/** The best of a grid in the simulator, of the machine as it is before or after its shift. */
const search = (machine: Machine, shifted: boolean): Concurrency => {
  const { shift, ...rest } = machine;
  const still: Machine =
    shifted && shift !== undefined ? { ...rest, generate: shift.generate, step: shift.step } : rest;
  let best: Concurrency = { rollout: 1, generate: 1, step: 1 };
  let highest = 0;
  for (const rollout of [8, 16, 24])
    for (const generate of [8, 12, 16, 24, 32, 96])
      for (const step of [8, 12, 16, 24, 32, 40, 48, 64, 96]) {
        const shape = shapeOf(still, { rollout, generate, step }, 7);
        const reached = pace(simulate({ ...shape, until: 150_000 }).consumedAt, 20_000, 150_000);
        if (reached <= highest) continue;
        highest = reached;
        best = { rollout, generate, step };
      }
  return best;
};

const nullRun = (machine: Machine, seed: number): NullRun => ({
  mode: "async",
  order: machine.order ?? "admission",
  maxStaleness,
  groups,
  groupSize,
  turns,
  windows: 100_000,
  slots: groups * groupSize * (maxStaleness + 1),
  generate: callTime(machine, "generate", seed),
  step: callTime(machine, "step", seed),
  update: machine.update,
});

const setTo = (stage: string, concurrency: number): Effect.Effect<void, never, Dials.Dials> =>
  Effect.flatMap(Dials.Dials, (dials) =>
    Effect.forEach(
      dials.all().filter(({ name }) => name === stage),
      (dial) => dial.setConcurrency(concurrency),
      { discard: true },
    ),
  );

interface Ran {
  readonly consumedAt: readonly number[];
  readonly changes: readonly number[];
}

/** The engine from a setting on, tuned or not. */
const engine = (machine: Machine, from: Concurrency, seed: number, tuned: boolean): Promise<Ran> => {
  const changes: number[] = [];
  let controls: readonly { readonly control: Control; readonly reason: string }[] = [];
  const tuning = Effect.gen(function* () {
    const dials = yield* Dials.Dials;
    return yield* autotuner.run({
      knobs,
      setting: { mode: "async", groupSize, most: new Map(knobs.map(({ most, stage }) => [stage, most])) },
      apply: (control, reason) =>
        Effect.gen(function* () {
          if (control._tag !== "SetConcurrency") return;
          controls = [...controls, { control, reason }];
          changes.push(yield* Effect.clockWith((clock) => clock.currentTimeMillis));
          yield* Effect.provideService(setTo(control.stage, control.concurrency), Dials.Dials, dials);
        }),
    });
  });
  const beside = Effect.gen(function* () {
    // The line's own stages are there once it runs.
    yield* Effect.sleep(1);
    for (const [stage, concurrency] of Object.entries(from)) yield* setTo(stage, concurrency);
    yield* Effect.raceFirst(tuned ? tuning : Effect.never, Effect.sleep(LENGTH));
  });
  return Effect.runPromise(inVirtualTime(engineRun(nullRun(machine, seed), beside))).then((consumedAt) => ({
    consumedAt,
    changes,
  }));
};

const least = (name: string, values: readonly number[]): readonly Figure[] => [
  { name, value: mean(values), unit: "", target: { atLeast: 0.95 }, repetitions: values.length },
  { name: `${name}, worst seed`, value: Math.min(...values), unit: "" },
];

const measure = async (machine: Machine): Promise<readonly Figure[]> => {
  const { name, shift } = machine;
  const end = shift?.at ?? LENGTH;
  const settings = [search(machine, false), ...(shift === undefined ? [] : [search(machine, true)])];
  const spans = [[MINUTE, end] as const, ...(shift === undefined ? [] : [[end + MINUTE, LENGTH] as const])];
  const fixed: (readonly number[])[] = [];
  for (const seed of SEEDS) {
    const paces: number[] = [];
    for (const [i, [from, to]] of spans.entries()) {
      paces.push(pace((await engine(machine, settings[i]!, seed, false)).consumedAt, from, to));
    }
    fixed.push(paces);
  }
  const figures: Figure[] = [];
  for (const [from, start] of Object.entries(starts)) {
    const shares: number[][] = spans.map(() => []);
    const rates: number[] = [];
    for (const [i, seed] of SEEDS.entries()) {
      const { changes, consumedAt } = await engine(machine, start, seed, true);
      for (const [j, [a, b]] of spans.entries()) shares[j]!.push(pace(consumedAt, a, b) / fixed[i]![j]!);
      const settled = spans.map(([a, b]) => [a + MINUTE, b] as const);
      const within = changes.filter((at) => settled.some(([a, b]) => at >= a && at < b)).length;
      rates.push((MINUTE * within) / settled.reduce((sum, [a, b]) => sum + b - a, 0));
    }
    const titles = ["over the best fixed setting", "after the shift, over the best fixed setting"];
    for (const [j, values] of shares.entries()) figures.push(...least(`${name}, from ${from}: ${titles[j]}`, values));
    figures.push({
      name: `${name}, from ${from}: changes a minute, settled`,
      value: Math.max(...rates),
      unit: "",
      target: { atMost: 1 },
      note: `the most of ${SEEDS.length} seeds`,
    });
  }
  return figures;
};

export const bench: Bench = {
  question: "does the autotuner reach the best fixed setting, and then leave it alone?",
  parts: machines.map((machine) => async () => {
    const figures = await measure(machine);
    return () => figures;
  }),
};
