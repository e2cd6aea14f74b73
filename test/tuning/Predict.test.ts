import { describe, expect, it } from "vitest";
import { correctionOf, predict } from "../../src/tuning/Predict.ts";
import { machine, observe, settings, workload } from "./synthetic.ts";

const slower = (factor: number) => {
  const run = observe(machine, settings, 24);
  return { ...run, windows: run.windows.map((window) => ({ ...window, time: factor * window.time })) };
};

describe("the correction of virtual time", () => {
  it("is none where real runs took the time of the machine", () => {
    expect(correctionOf(machine, workload, [slower(1)])).toBeCloseTo(1, 1);
  });

  it("is what real runs took longer, on average", () => {
    const once = correctionOf(machine, workload, [slower(1)]);
    expect(correctionOf(machine, workload, [slower(1.2), slower(1.4)]) / once).toBeCloseTo(1.3, 6);
  });

  it("is none without a run", () => {
    expect(correctionOf(machine, workload, [])).toBe(1);
  });

  it("lengthens what is predicted", () => {
    const paceWith = (correction: number) => predict(machine, settings, { ...workload, correction }, 12).windowsPerHour;
    expect(paceWith(1) / paceWith(1.25)).toBeCloseTo(1.25, 6);
  });
});
