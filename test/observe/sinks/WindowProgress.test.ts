import { describe, expect, it } from "vitest";
import type { Event } from "../../../src/domain/Event.ts";
import type { Update } from "../../../src/observe/sinks/Sink.ts";
import {
  initial,
  progressText,
  stepOf,
  update,
  type WindowProgress,
  windowMs,
} from "../../../src/observe/sinks/WindowProgress.ts";
import { admitted, finished } from "../../build/events.ts";
import { stepRecord } from "../../build/records.ts";
import { run, sample, stage } from "./fixtures.ts";

const event = (value: Event): Update => ({ _tag: "Event", event: value });
const sampled = (elapsedMs: number, turns = 0, tokens = 0): Update => ({
  _tag: "Sample",
  sample: sample(elapsedMs, [stage("rollout", { items: 7 }), stage("generate", { items: turns })], tokens),
});
const ids = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const admissions = (groups: readonly number[], window: number): readonly Update[] =>
  groups.map((group) => event(admitted(group, window)));
const ends = (groups: readonly number[]): readonly Update[] =>
  groups.map((group) => event(finished(group, { tokens: 9 })));
const stepEnd = (step: number, groups: readonly number[]): readonly Update[] => [
  { _tag: "Step", record: stepRecord(step) },
  event({ _tag: "StepClosed", step, groups, seconds: 1 }),
];

const four = { groups: 4, groupSize: 8, order: "admission" } as const;
const progressAfter = (updates: readonly Update[], window: WindowProgress["window"] = four): WindowProgress =>
  updates.reduce(update, initial({ ...run, window }));

describe("the progress of a window", () => {
  it("counts episodes, turns, tokens and time since the last step, and estimates what is left by the share done", () => {
    const progress = progressAfter([
      sampled(0),
      ...admissions(ids(0, 4), 0),
      sampled(60_000, 900, 20_000),
      ...stepEnd(1, ids(0, 4)),
      ...admissions(ids(4, 8), 1),
      sampled(61_000, 1000, 30_000),
      ...ends([5]),
      sampled(191_000, 2900, 91_000),
    ]);
    expect(stepOf(progress)).toBe(2);
    expect(windowMs(progress)).toBe(130_000);
    expect(progressText(progress)).toBe("8 of 32 episodes, 1.90k turns, 61.0k tokens, 2m10s so far, about 6m30s left");
  });

  it("leaves out what is not known before a group has ended", () => {
    const progress = progressAfter([sampled(0), ...admissions(ids(0, 4), 0), sampled(40_000, 12)]);
    expect(progressText(progress)).toBe("0 of 32 episodes, 12 turns, 40.0s so far");
  });

  it("leaves groups of later windows out of the count, and of the pace those that ended before the last step", () => {
    const progress = progressAfter([
      ...admissions(ids(0, 4), 0),
      ...admissions(ids(4, 8), 1),
      ...admissions(ids(8, 12), 2),
      ...ends([...ids(0, 4), 4, 5, 8, 9]),
      ...stepEnd(1, ids(0, 4)),
      sampled(10_000),
      ...ends([6, 10]),
      sampled(70_000),
    ]);
    expect(progressText(progress)).toBe("24 of 32 episodes, 1m00s so far, about 1m00s left");
  });

  it("counts whichever groups have ended where windows form as groups end, a window's worth at most", () => {
    const updates = [sampled(0), ...admissions(ids(0, 4), 0), ...admissions(ids(4, 8), 1)];
    const completion = { ...four, order: "completion" } as const;
    const some = progressAfter([...updates, ...ends([1, 6]), sampled(20_000)], completion);
    expect(progressText(some)).toBe("16 of 32 episodes, 20.0s so far, about 20.0s left");
    const enough = progressAfter([...updates, ...ends([1, 2, 5, 6, 7]), sampled(20_000)], completion);
    expect(progressText(enough)).toBe("32 of 32 episodes, 20.0s so far");
  });

  it("adds the groups that a refill asks for", () => {
    const refill = event({ _tag: "Admitted", group: 4, window: 0, refill: 1 });
    const progress = progressAfter([...admissions(ids(0, 4), 0), refill, ...ends([0]), sampled(0), sampled(5000)]);
    expect(progressText(progress)).toBe("8 of 40 episodes, 5.0s so far");
  });

  it("says that the window is at the learner, and not that the one before was", () => {
    const learning = [...admissions(ids(0, 4), 0), sampled(0), event({ _tag: "Learning", window: 0, from: 0 })];
    expect(progressText(progressAfter([...learning, sampled(9000)]))).toBe("0 of 32 episodes, 9.0s so far, training");
    expect(progressText(progressAfter([...learning, ...stepEnd(1, []), sampled(9000)]))).toBe(
      "0 of 32 episodes, 0ms so far",
    );
  });

  it("tells of a validation, under its step, until it has ended", () => {
    const validating = [sampled(0), event({ _tag: "Validating", step: 0, done: 3, of: 64 }), sampled(45_000)];
    expect(stepOf(progressAfter(validating))).toBe(0);
    expect(progressText(progressAfter(validating))).toBe("validation, 3 of 64 groups, 45.0s so far");
    expect(stepOf(progressAfter([...validating, event({ _tag: "Validated", step: 0 })]))).toBe(1);
  });
});
