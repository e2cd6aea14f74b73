/** The autotuner on machines in virtual time, whose best fixed settings are known. */
import { describe, expect, it } from "vitest";
import {
  type Concurrency,
  isTuned,
  knobs,
  LENGTH,
  type Machine,
  MINUTE,
  machines,
  shapeOf,
  starts,
} from "../../../bench/machines.ts";
import { emptySample } from "../../../src/flow/Gauge.ts";
import type { RunShape } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";
import * as Autotune from "../../../src/tools/tuning/Autotune.ts";
import { blocks, measured } from "./measured.ts";

const SHORT = 3 * MINUTE;

const pace = (consumedAt: readonly number[], from: number, to: number): number => {
  const within = consumedAt.filter((at) => at >= from && at < to);
  return (within.length - 1) / (within.at(-1)! - within[0]!);
};

interface Change extends Autotune.Decision {
  readonly at: number;
}

const most = new Map(knobs.map((knob) => [knob.stage, knob.most]));

const tuned = (shape: RunShape) => {
  let state = Autotune.start({ knobs, setting: { mode: shape.mode, groupSize: shape.groupSize, most } });
  const changes: Change[] = [];
  const { consumedAt } = run({
    ...shape,
    observer: {
      everyMs: 1000,
      onSample: (sample, set) => {
        const outcome = Autotune.observe(state, sample);
        state = outcome.state;
        for (const decision of outcome.decisions) {
          changes.push({ ...decision, at: sample.elapsedMs });
          const { concurrency, stage } = decision.control;
          if (isTuned(stage)) set(stage, concurrency);
        }
      },
    },
  });
  return { consumedAt, changes };
};

const machine = (name: string): Machine => machines.find((one) => one.name === name)!;
const few = starts["few slots"]!;

/** The best fixed settings of each machine, by search; after its shift, too. */
const best: Readonly<Record<string, readonly Concurrency[]>> = {
  "slow environment": [{ rollout: 24, generate: 24, step: 32 }],
  "slow generator": [{ rollout: 16, generate: 24, step: 12 }],
  "slow update": [{ rollout: 16, generate: 12, step: 12 }],
  "heavy tails": [{ rollout: 24, generate: 96, step: 48 }],
  "a shift half way": [
    { rollout: 16, generate: 96, step: 48 },
    { rollout: 24, generate: 12, step: 24 },
  ],
};

describe.each(machines.map((one) => [one.name, one] as const))("on a machine with %s", (name, machine) => {
  it.each(Object.keys(starts))(
    "comes near the best fixed setting a minute after the start and after a shift, from %s",
    (from) => {
      const shape = (setting: Concurrency): RunShape => shapeOf(machine, setting, 1);
      const { changes, consumedAt } = tuned(shape(starts[from]!));
      const shift = machine.shift?.at ?? LENGTH;
      for (const [i, setting] of best[name]!.entries()) {
        const [since, until] = i === 0 ? [MINUTE, shift] : [shift + MINUTE, LENGTH];
        const share = pace(consumedAt, since, until) / pace(run(shape(setting)).consumedAt, since, until);
        expect(share).toBeGreaterThan(0.93);
        const settled = changes.filter(({ at }) => at >= since + MINUTE && at < until).length;
        expect(settled).toBeLessThanOrEqual((until - since) / MINUTE);
      }
    },
  );
});

it("begins with few calls at once, and leaves a run alone once the learner sets the pace", () => {
  const shape: RunShape = { ...shapeOf(machine("slow update"), starts["many slots"]!, 1), until: SHORT };
  const { changes } = tuned(shape);
  expect(changes.filter(({ at }) => at === 0).map(({ control }) => control)).toEqual([
    { _tag: "SetConcurrency", stage: "rollout", concurrency: 8 },
    { _tag: "SetConcurrency", stage: "generate", concurrency: 8 },
    { _tag: "SetConcurrency", stage: "step", concurrency: 8 },
  ]);
  expect(changes.filter(({ at }) => at > MINUTE)).toEqual([]);
});

it("begins with few again where a service becomes slower", () => {
  const shifting = machine("a shift half way");
  const early: Machine = { ...shifting, shift: { ...shifting.shift!, at: MINUTE } };
  const { changes } = tuned({ ...shapeOf(early, starts["many slots"]!, 1), until: SHORT });
  const [first] = changes.filter(({ at }) => at > MINUTE);
  expect(first!.at).toBeLessThan(MINUTE + 15_000);
  expect(first!.control).toEqual({ _tag: "SetConcurrency", stage: "generate", concurrency: 8 });
  expect(first!.reason).toMatch(/^generate from \d+ to 8: its calls take [\d.]+ times as long as before$/);
});

it("waits until each of two services that became slower at once has no more calls than it may", () => {
  const options: Autotune.Options = { knobs, setting: { mode: "async", groupSize: 8, most } };
  const reading = (seconds: number, generate: number, step: number): Autotune.Observation => ({
    elapsedMs: 1000 * seconds,
    stages: Object.entries({ generate, step }).map(([name, running]) => ({
      ...emptySample(name),
      kind: "service",
      concurrency: 24,
      running,
    })),
  });
  const slower = measured(blocks(30, 50, 24, 100), blocks(6, 50, 24, 300));
  const measures = new Map([
    ["generate", slower],
    ["step", slower],
  ]);
  const readings = Array.from({ length: 6 }, (_, second) => reading(94 + second, 24, 24));
  const before: Autotune.State = { ...Autotune.start(options), measures, seen: readings.at(-1)!, readings };
  const { decisions, state } = Autotune.observe(before, reading(100, 24, 24));
  expect(decisions.map(({ control }) => control.stage)).toEqual(["generate", "step"]);
  const readingsAt = (seconds: number, step: number) =>
    Autotune.observe({ ...state, seen: reading(seconds - 1, 8, step) }, reading(seconds, 8, step)).state.readings;
  expect(readingsAt(120, 9)).toEqual([]);
  expect(readingsAt(120, 8)).toHaveLength(1);
});

it("changes one thing at a time, never to what it is, within the least and the most, and says why", () => {
  const { changes } = tuned({ ...shapeOf(machine("slow environment"), few, 2), until: SHORT });
  expect(changes.length).toBeGreaterThan(4);
  const at = new Map<string, number>(Object.entries(few));
  for (const [i, { at: time, control, reason }] of changes.entries()) {
    const { concurrency, stage } = control;
    const knob = knobs.find((one) => one.stage === stage)!;
    expect(time).toBeGreaterThan(changes[i - 1]?.at ?? -1);
    expect(reason).toContain(`${stage} from ${at.get(stage)} to ${concurrency}: `);
    expect(concurrency).not.toBe(at.get(stage));
    expect(concurrency).toBeGreaterThanOrEqual(knob.least);
    expect(concurrency).toBeLessThanOrEqual(knob.most);
    at.set(stage, concurrency);
  }
});

it("does not propose a stage where nothing waits", () => {
  const shape: RunShape = { ...shapeOf(machine("slow environment"), few, 1), until: MINUTE };
  let state = Autotune.start({
    knobs: [{ stage: "score", least: 1, most: 4 }],
    setting: { mode: "async", groupSize: shape.groupSize, most },
  });
  const decisions: Autotune.Decision[] = [];
  const onSample = (sample: Autotune.Observation): void => {
    const outcome = Autotune.observe(state, sample);
    state = outcome.state;
    decisions.push(...outcome.decisions);
  };
  run({ ...shape, observer: { everyMs: 1000, onSample } });
  expect(decisions).toEqual([]);
});

it("raises throughput in sync, where rollouts and updates take turns", () => {
  const shape: RunShape = { ...shapeOf(machine("slow environment"), few, 1), mode: "sync", until: SHORT };
  const before = pace(run(shape).consumedAt, MINUTE, SHORT);
  expect(pace(tuned(shape).consumedAt, MINUTE, SHORT)).toBeGreaterThan(2 * before);
});

it("is a function of what it observes", () => {
  const shape: RunShape = { ...shapeOf(machine("heavy tails"), few, 1), until: MINUTE };
  expect(tuned(shape)).toEqual(tuned(shape));
});
