import { describe, expect, it } from "vitest";
import { correctionOf, predict } from "../../../src/tools/tuning/Predict.ts";
import { machine, observe, settings, workload } from "./synthetic.ts";

const slower = (factor: number) => {
  const run = observe(machine, settings, 24);
  return { ...run, windows: run.windows.map((window) => ({ ...window, time: factor * window.time })) };
};

/** The correction for the slots of `settings` where real runs took `factors` times as long as predicted, over that where they took as long. */
const correctionFor = (factors: readonly number[]): number => {
  const correctionFrom = (runs: readonly number[]) =>
    correctionOf(machine, workload, runs.map(slower)).get(settings.slots)!;
  return correctionFrom(factors) / correctionFrom([1]);
};

describe("the correction of virtual time", () => {
  it("is none where real runs took the time of the machine", () => {
    expect(correctionOf(machine, workload, [slower(1)]).get(settings.slots)).toBeCloseTo(1, 1);
  });

  it("is what real runs took longer, on average", () => {
    expect(correctionFor([1.2, 1.4])).toBeCloseTo(1.3, 6);
  });

  it("is none without a run", () => {
    expect(correctionOf(machine, workload, [])).toEqual(new Map());
  });

  it("is kept for each number of slots", () => {
    const few = { ...settings, slots: 16 };
    const run = observe(machine, few, 24);
    const longer = { ...run, windows: run.windows.map((window) => ({ ...window, time: 1.5 * window.time })) };
    const correction = correctionOf(machine, workload, [slower(1), longer]);
    expect([...correction.keys()]).toEqual([settings.slots, 16]);
    expect(correction.get(16)! / correctionOf(machine, workload, [run]).get(16)!).toBeCloseTo(1.5, 6);
  });

  it("lengthens what is predicted, between the slots that were looked at by their logarithm", () => {
    const paceWith = (slots: number, correction: ReadonlyMap<number, number>) =>
      predict(machine, { ...settings, slots }, { ...workload, correction }, 12).windowsPerHour;
    const correction = new Map([
      [16, 1.5],
      [64, 1.25],
    ]);
    const longer = (slots: number) => paceWith(slots, new Map()) / paceWith(slots, correction);
    expect(longer(64)).toBeCloseTo(1.25, 6);
    expect(longer(32)).toBeCloseTo(1.375, 6);
    expect(longer(8)).toBeCloseTo(1.5, 6);
  });
});
