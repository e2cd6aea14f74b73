/**
 * Measures what the autotuner reaches on five machines with injected latencies. Their best fixed settings come from a
 * search in virtual time. It runs in the simulator, and in the whole engine over a null model on a virtual clock, from
 * too few and from too many slots. The figures are throughput over that of the best fixed setting, in the same world
 * under the same seed: after the first minute, after a shift, and the changes a minute once it is stable.
 */
import { Clock, Effect } from "effect";
import { mean } from "../src/domain/Statistics.ts";
import { Bus } from "../src/flow/Bus.ts";
import * as StageRegistry from "../src/flow/StageRegistry.ts";
import type { Observer } from "../src/tools/simulation/RunShape.ts";
import { run as simulate } from "../src/tools/simulation/run.ts";
import * as Autotune from "../src/tools/tuning/Autotune.ts";
import type { Bench, Figure } from "./Bench.ts";
import {
  type Concurrency,
  callTime,
  groupSize,
  groups,
  isTuned,
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

const setTo = (stage: string, concurrency: number): Effect.Effect<void, never, StageRegistry.StageRegistry> =>
  Effect.flatMap(StageRegistry.StageRegistry, (registry) =>
    Effect.forEach(
      registry.stages().filter(({ name }) => name === stage),
      (dial) => dial.setConcurrency(concurrency),
      { discard: true },
    ),
  );

interface Ran {
  readonly consumedAt: readonly number[];
  readonly changes: readonly number[];
}

/** A run from a setting on, tuned or not. */
type Play = (machine: Machine, from: Concurrency, seed: number, tuned: boolean) => Promise<Ran>;

const setting = { mode: "async", groupSize, most: new Map(knobs.map(({ most, stage }) => [stage, most])) } as const;

const inSimulator: Play = (machine, from, seed, tuned) => {
  const changes: number[] = [];
  let state = Autotune.start({ knobs, setting });
  const observer: Observer = {
    everyMs: 1000,
    onSample: (sample, set) => {
      const { decisions, state: next } = Autotune.observe(state, sample);
      state = next;
      for (const { control } of decisions) {
        changes.push(sample.elapsedMs);
        if (isTuned(control.stage)) set(control.stage, control.concurrency);
      }
    },
  };
  const { consumedAt } = simulate({ ...shapeOf(machine, from, seed), ...(tuned ? { observer } : {}) });
  return Promise.resolve({ consumedAt, changes });
};

/** The stages of the line are there soon after it starts, at the same virtual time. */
const atOnce = (from: Concurrency): Effect.Effect<void, never, StageRegistry.StageRegistry> =>
  Effect.gen(function* () {
    const registry = yield* StageRegistry.StageRegistry;
    while (!registry.stages().some(({ name }) => name === "rollout")) yield* Effect.yieldNow;
    for (const [stage, concurrency] of Object.entries(from)) yield* setTo(stage, concurrency);
  });

const inEngine: Play = async (machine, from, seed, tuned) => {
  const changes: number[] = [];
  const beside = Effect.gen(function* () {
    const bus = yield* Bus;
    const clock = yield* Clock.Clock;
    bus.onEvent((event) => {
      if (event._tag === "Controlled" && event.by === "autotune") changes.push(clock.currentTimeMillisUnsafe());
    });
    yield* atOnce(from);
    yield* Effect.sleep(LENGTH);
  });
  const run = { ...nullRun(machine, seed), autotune: tuned };
  return { consumedAt: await Effect.runPromise(inVirtualTime(engineRun(run, beside))), changes };
};

const least = (name: string, values: readonly number[]): readonly Figure[] => [
  { name, value: mean(values), unit: "", target: { atLeast: 0.95 }, repetitions: values.length },
  { name: `${name}, worst seed`, value: Math.min(...values), unit: "" },
];

const measure = async (world: string, play: Play, machine: Machine): Promise<readonly Figure[]> => {
  const { shift } = machine;
  const name = `${machine.name}, ${world}`;
  const end = shift?.at ?? LENGTH;
  const settings = [search(machine, false), ...(shift === undefined ? [] : [search(machine, true)])];
  const spans = [[MINUTE, end] as const, ...(shift === undefined ? [] : [[end + MINUTE, LENGTH] as const])];
  const fixed: (readonly number[])[] = [];
  for (const seed of SEEDS) {
    const paces: number[] = [];
    for (const [i, [from, to]] of spans.entries()) {
      paces.push(pace((await play(machine, settings[i]!, seed, false)).consumedAt, from, to));
    }
    fixed.push(paces);
  }
  const figures: Figure[] = [];
  for (const [from, start] of Object.entries(starts)) {
    const shares: number[][] = spans.map(() => []);
    const rates: number[] = [];
    for (const [i, seed] of SEEDS.entries()) {
      const { changes, consumedAt } = await play(machine, start, seed, true);
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

const worlds: readonly (readonly [name: string, play: Play])[] = [
  ["simulated", inSimulator],
  ["engine", inEngine],
];

export const bench: Bench = {
  question: "does the autotuner reach the best fixed setting, and then leave it alone?",
  parts: machines.flatMap((machine) =>
    worlds.map(([world, play]) => async () => {
      const figures = await measure(world, play, machine);
      return () => figures;
    }),
  ),
};
