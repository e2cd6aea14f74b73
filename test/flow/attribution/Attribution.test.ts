/** Attribution against the simulator, where the truth is known: the same run with one more slot of each stage, or a faster update. */
import { describe, expect, it } from "vitest";
import { draw } from "../../../bench/latency.ts";
import { type Random, stream } from "../../../src/domain/Random.ts";
import { type Attribution, attribute } from "../../../src/flow/attribution/Attribution.ts";
import { emptySample, type StageSample } from "../../../src/flow/Gauge.ts";
import type { RunSample, RunShape } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";

interface Case {
  readonly generate: { readonly mean: number; readonly slots: number };
  readonly step: { readonly mean: number; readonly slots: number };
  readonly update: number;
}

const WINDOWS = 80;
const FIRST = 12;

const timed = (seed: number, service: number, mean: number) => (group: number, member: number, turn: number) =>
  draw("exponential", mean, stream({ seed, purpose: "play", counters: [service, group, member, turn] }));

const shapeOf = ({ generate, step, update }: Case, seed: number): RunShape => ({
  mode: "async",
  groups: 4,
  groupSize: 4,
  windows: WINDOWS,
  maxStaleness: 3,
  order: "admission",
  rolloutConcurrency: 16,
  episodes: Number.POSITIVE_INFINITY,
  generateSlots: generate.slots,
  stepSlots: step.slots,
  turns: 3,
  generate: timed(seed, 0, generate.mean),
  step: timed(seed, 1, step.mean),
  inbox: 8,
  update: () => update,
});

const pace = (shape: RunShape): number => {
  const { consumedAt } = run(shape);
  return (WINDOWS - 1 - FIRST) / (consumedAt.at(-1)! - consumedAt[FIRST]!);
};

const attributed = (shape: RunShape): Attribution => {
  const samples: RunSample[] = [];
  run({ ...shape, observer: { everyMs: 100, onSample: (sample) => void samples.push(sample) } });
  const from = samples.find(({ consumed }) => consumed >= FIRST)!;
  return attribute(from.stages, samples.findLast(({ consumed }) => consumed < WINDOWS)!.stages, { mode: shape.mode });
};

/** The gain of a tenth more capacity, by stage. */
const truth = (given: Case, seed: number): ReadonlyMap<string, number> => {
  const base = pace(shapeOf(given, seed));
  const faster = (change: Partial<Case>): number => pace(shapeOf({ ...given, ...change }, seed)) / base - 1;
  const { generate, step, update } = given;
  return new Map([
    ["generate", faster({ generate: { ...generate, mean: generate.mean / 1.1 } })],
    ["step", faster({ step: { ...step, mean: step.mean / 1.1 } })],
    ["learn", faster({ update: update / 1.1 })],
  ]);
};

const between = (random: Random, low: number, high: number): number => low + (high - low) * random.uniform();
const randomCase = (seed: number): Case => {
  const random = stream({ seed, purpose: "play", counters: [99] });
  const slots = (): number => Math.round(between(random, 2, 12));
  return {
    generate: { mean: between(random, 5, 40), slots: slots() },
    step: { mean: between(random, 5, 40), slots: slots() },
    update: between(random, 20, 250),
  };
};
const cases = Array.from({ length: 10 }, (_, i) => [i + 1, randomCase(i + 1)] as const);

describe("in async", () => {
  it.each(cases)("names the stage whose capacity raises throughput most: shape %i", (seed, given) => {
    const { bottleneck } = attributed(shapeOf(given, seed));
    const gains = truth(given, seed);
    const best = Math.max(...gains.values());
    // If two stages bind alike, either may be named.
    expect(gains.get(bottleneck!.stage)).toBeGreaterThan(0.6 * best - 0.005);
  });

  it.each(cases)("expects of one more slot what it gains: shape %i", (seed, given) => {
    const { pulls } = attributed(shapeOf(given, seed));
    const base = pace(shapeOf(given, seed));
    for (const stage of ["generate", "step"] as const) {
      const more = { ...given, [stage]: { ...given[stage], slots: given[stage].slots + 1 } };
      const gained = pace(shapeOf(more, seed)) / base - 1;
      const { gain } = pulls.find((pull) => pull.stage === stage)!;
      expect(Math.abs(gain! - gained)).toBeLessThan(0.03 + 0.5 * Math.max(gained, gain!));
    }
  });
});

const even: Case = { generate: { mean: 10, slots: 16 }, step: { mean: 10, slots: 16 }, update: 20 };

describe("what limits the run", () => {
  it("is the number of groups in flight where services have slots to spare", () => {
    const { bottleneck } = attributed({ ...shapeOf(even, 1), rolloutConcurrency: 1 });
    expect(bottleneck).toMatchObject({ stage: "rollout", limit: "slots" });
    expect(bottleneck!.gain).toBeGreaterThan(0.5);
  });

  it("is admission where groups wait for the next window", () => {
    const { bottleneck } = attributed({ ...shapeOf({ ...even, update: 1 }, 1), maxStaleness: 0 });
    expect(bottleneck).toMatchObject({ stage: "rollout", limit: "admission", gain: null });
  });

  it("is the update, in words, where the learner is always busy", () => {
    const { bottleneck } = attributed(shapeOf({ ...even, update: 500 }, 1));
    expect(bottleneck).toMatchObject({ stage: "learn", limit: "update", gain: null });
    expect(bottleneck!.because).toMatch(
      /^learn bounds throughput \(100 % busy, .*\): every window waits for its update\.$/,
    );
  });

  it("is the close where updates wait for it", () => {
    const { bottleneck } = attributed({ ...shapeOf(even, 1), close: () => 400 });
    expect(bottleneck).toMatchObject({ stage: "close", limit: "validation" });
  });

  it("is the longer phase where rollouts and updates take turns", () => {
    const sync = (given: Case): RunShape => ({ ...shapeOf(given, 1), mode: "sync", maxStaleness: 0 });
    expect(attributed(sync({ ...even, update: 300 })).bottleneck).toMatchObject({ stage: "learn" });
    const slow = { ...even, step: { mean: 60, slots: 3 } };
    expect(attributed(sync(slow)).bottleneck).toMatchObject({ stage: "step", limit: "slots" });
  });

  it("names threads, and no gain, where a stage has all the slots that there are", () => {
    const shape = shapeOf({ ...even, step: { mean: 40, slots: 3 } }, 1);
    const samples: RunSample[] = [];
    run({ ...shape, observer: { everyMs: 100, onSample: (sample) => void samples.push(sample) } });
    const most = new Map([["step", 3]]);
    const { bottleneck } = attribute(samples[5]!.stages, samples.at(-5)!.stages, { mode: "async", most });
    expect(bottleneck).toMatchObject({ stage: "step", limit: "threads", gain: null });
  });
});

it("says nothing while too little has passed", () => {
  const stages: readonly StageSample[] = [{ ...emptySample("generate"), kind: "service", elapsedMs: 5, starvedMs: 5 }];
  expect(attribute(null, stages, { mode: "async" }).bottleneck).toBeNull();
  expect(attribute(stages, stages, { mode: "async" }).bottleneck).toBeNull();
  expect(attribute(null, [], { mode: "sync" }).bottleneck).toBeNull();
});

it("is not a service with long queues that is free most of the time", () => {
  const stage = (name: string, change: Partial<StageSample>): StageSample => ({
    ...emptySample(name),
    elapsedMs: 15_000,
    ...change,
  });
  const { bottleneck } = attribute(
    null,
    [
      stage("learn", { capacity: 1, items: 2, busyMs: 15_000, queueMs: 5_000 }),
      // Bursts of steps: items wait for one another, and the threads have nothing to do in between.
      stage("step", { kind: "service", concurrency: 2, items: 400, busyMs: 3_000, starvedMs: 27_000, queueMs: 12_000 }),
    ],
    { mode: "async" },
  );
  expect(bottleneck?.stage).toBe("learn");
});
