/** The autotuner on machines in virtual time, whose best fixed settings are known. */
import { describe, expect, it } from "vitest";
import { type Concurrency, knobs, type Machine, MINUTE, machines, shapeOf, starts } from "../../bench/machines.ts";
import type { RunShape } from "../../src/simulation/RunShape.ts";
import { run } from "../../src/simulation/run.ts";
import * as Autotune from "../../src/tuning/Autotune.ts";

const LENGTH = 3 * MINUTE;

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
          if (stage === "rollout" || stage === "generate" || stage === "step") set(stage, concurrency);
        }
      },
    },
  });
  return { consumedAt, changes };
};

const machine = (name: string): Machine => machines.find((one) => one.name === name)!;
const few = starts["few slots"]!;

describe("on a machine that crowding makes slow", () => {
  const best: Concurrency = { rollout: 24, generate: 24, step: 32 };
  const slow = machine("slow environment");
  const cases = Object.entries(starts).flatMap(([name, from]) => [1, 2].map((seed) => [name, seed, from] as const));
  it.each(cases)("comes near the best fixed setting after the first minute, from %s, seed %i", (_, seed, from) => {
    const shape = (setting: Concurrency): RunShape => ({ ...shapeOf(slow, setting, seed), until: LENGTH });
    const { changes, consumedAt } = tuned(shape(from));
    const share = pace(consumedAt, MINUTE, LENGTH) / pace(run(shape(best)).consumedAt, MINUTE, LENGTH);
    expect(share).toBeGreaterThan(0.9);
    expect(changes.filter(({ at }) => at >= 2 * MINUTE).length).toBeLessThanOrEqual(2);
  });
});

it("finds the room of a service that a shift leaves far above what it can bear", () => {
  const shifting = machine("a shift half way");
  const at = MINUTE;
  const early = { ...shifting, shift: { ...shifting.shift!, at } };
  const shape = (setting: Concurrency): RunShape => ({ ...shapeOf(early, setting, 1), until: LENGTH });
  const best: Concurrency = { rollout: 24, generate: 12, step: 24 };
  const fixed = pace(run(shape(best)).consumedAt, at + MINUTE, LENGTH);
  const left = run(shape({ rollout: 24, generate: 192, step: 48 })).consumedAt;
  const { consumedAt } = tuned(shape(starts["many slots"]!));
  expect(pace(consumedAt, at + MINUTE, LENGTH) / fixed).toBeGreaterThan(0.75);
  const last = (times: readonly number[]): number => times.filter((time) => time >= at + MINUTE).length;
  expect(last(consumedAt)).toBeGreaterThan(2 * last(left));
});

it("leaves a run alone whose pace is the learner's", () => {
  const shape: RunShape = { ...shapeOf(machine("slow update"), starts["many slots"]!, 1), until: LENGTH };
  expect(tuned(shape).changes).toEqual([]);
});

it("changes one thing at a time, never to what it is, within the least and the most, and says why", () => {
  const { changes } = tuned({ ...shapeOf(machine("slow environment"), few, 2), until: LENGTH });
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
  const shape: RunShape = { ...shapeOf(machine("slow environment"), few, 1), mode: "sync", until: LENGTH };
  const before = pace(run(shape).consumedAt, MINUTE, LENGTH);
  expect(pace(tuned(shape).consumedAt, MINUTE, LENGTH)).toBeGreaterThan(2 * before);
});

it("is a function of what it observes", () => {
  const shape: RunShape = { ...shapeOf(machine("heavy tails"), few, 1), until: MINUTE };
  expect(tuned(shape)).toEqual(tuned(shape));
});
