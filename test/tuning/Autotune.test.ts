/** The autotuner on machines in virtual time, whose best fixed settings are known. */
import { describe, expect, it } from "vitest";
import { type Concurrency, knobs, type Machine, MINUTE, machines, shapeOf, starts } from "../../bench/machines.ts";
import type { RunShape } from "../../src/simulation/RunShape.ts";
import { run } from "../../src/simulation/run.ts";
import * as Autotune from "../../src/tuning/Autotune.ts";

const LENGTH = 6 * MINUTE;

const pace = (consumedAt: readonly number[], from: number, to: number): number => {
  const within = consumedAt.filter((at) => at >= from && at < to);
  return (within.length - 1) / (within.at(-1)! - within[0]!);
};

interface Change extends Autotune.Decision {
  readonly at: number;
}

const tuned = (shape: RunShape) => {
  const most = new Map(knobs.map((knob) => [knob.stage, knob.most]));
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

describe("on a machine that crowding makes slow", () => {
  const best: Concurrency = { rollout: 24, generate: 24, step: 32 };
  const slow = machine("slow environment");
  it.each(Object.entries(starts))("comes near the best fixed setting after the first minute, from %s", (_, from) => {
    const shape = (setting: Concurrency): RunShape => ({ ...shapeOf(slow, setting, 1), until: LENGTH });
    const { changes, consumedAt } = tuned(shape(from));
    const share = pace(consumedAt, MINUTE, LENGTH) / pace(run(shape(best)).consumedAt, MINUTE, LENGTH);
    expect(share).toBeGreaterThan(0.9);
    expect(changes.filter(({ at }) => at >= 2 * MINUTE).length).toBeLessThanOrEqual(4);
  });
});

it("leaves a run alone whose pace is the learner's", () => {
  const shape: RunShape = { ...shapeOf(machine("slow update"), starts["many slots"]!, 1), until: LENGTH };
  expect(tuned(shape).changes).toEqual([]);
});

it("changes one thing at a time, takes back what does not pay, and says why", () => {
  const { changes } = tuned({ ...shapeOf(machine("slow environment"), starts["few slots"]!, 2), until: LENGTH });
  expect(changes.length).toBeGreaterThan(4);
  const at = new Map<string, number>(Object.entries(starts["few slots"]!));
  let trial: Change | null = null;
  for (const change of changes) {
    const { concurrency, stage } = change.control;
    if (change.reason.startsWith("back")) {
      expect(trial!.control.stage).toBe(stage);
      expect(at.get(stage)).not.toBe(concurrency);
      trial = null;
    } else {
      expect(change.reason).toMatch(/^a trial of \d+ slots, from \d+: /);
      trial = change;
    }
    at.set(stage, concurrency);
  }
});

it("stays within the least and the most of each stage", () => {
  for (const from of Object.values(starts)) {
    for (const { control } of tuned({ ...shapeOf(machine("slow generator"), from, 3), until: LENGTH }).changes) {
      const knob = knobs.find(({ stage }) => stage === control.stage)!;
      expect(control.concurrency).toBeGreaterThanOrEqual(knob.least);
      expect(control.concurrency).toBeLessThanOrEqual(knob.most);
    }
  }
});

it("raises throughput in sync, where rollouts and updates take turns", () => {
  const shape: RunShape = {
    ...shapeOf(machine("slow environment"), starts["few slots"]!, 1),
    mode: "sync",
    until: LENGTH,
  };
  const before = pace(run(shape).consumedAt, MINUTE, LENGTH);
  expect(pace(tuned(shape).consumedAt, MINUTE, LENGTH)).toBeGreaterThan(2 * before);
});

it("is a function of what it observes", () => {
  const shape: RunShape = { ...shapeOf(machine("heavy tails"), starts["few slots"]!, 1), until: 2 * MINUTE };
  expect(tuned(shape)).toEqual(tuned(shape));
});
