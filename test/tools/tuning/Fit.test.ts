import { describe, expect, it } from "vitest";
import { decodeOf, updateOf } from "../../../src/tools/simulation/replay/Machine.ts";
import { machineOf, type Probes } from "../../../src/tools/tuning/Fit.ts";
import type { ObservedRun } from "../../../src/tools/tuning/ObservedRun.ts";
import * as Plan from "../../../src/tools/tuning/Plan.ts";
import { predict } from "../../../src/tools/tuning/Predict.ts";
import { machine, observe, settings, workload } from "./synthetic.ts";

const probes = (seen: (run: ObservedRun) => ObservedRun = (run) => run): Probes => {
  const runs = [Plan.baseline(settings), ...Plan.plan(settings, 2, 64)].map((planned) =>
    seen(observe(machine, planned.settings, planned.windows, planned.rows)),
  );
  return {
    cores: 2,
    alone: runs.filter((run) => run.settings.mode === "sync"),
    together: runs.filter((run) => run.settings.mode === "async"),
  };
};

describe("a machine fitted to probes of a known one", () => {
  const fitted = machineOf(probes(), workload);

  it("has its decode steps, whatever their rows", () => {
    for (const rows of [4, 16, 40]) {
      expect(decodeOf(fitted, rows) / decodeOf(machine, rows)).toBeCloseTo(1, 2);
    }
  });

  it("has its time between windows, though fewer replies were let in for some", () => {
    expect(fitted.window / machine.window).toBeCloseTo(1, 1);
  });

  it("has its update for every lane and size of pass that was seen", () => {
    for (const lanes of [1, 2])
      for (const size of [512, 1024, 2048]) {
        expect(updateOf(fitted, lanes, size) / updateOf(machine, lanes, size)).toBeCloseTo(1, 1);
      }
  });

  it.each([
    { ...settings },
    { ...settings, lanes: 1 },
    { ...settings, generatorThreads: 2, lanes: 1 },
    { ...settings, slots: 16 },
    { ...settings, microBatchTokens: 2048 },
    { ...settings, mode: "sync" as const },
    { ...settings, maxStaleness: 1, lanes: 1 },
  ])("predicts its pace within 1 % under $mode, $slots slots, $generatorThreads x $lanes threads", (other) => {
    const pace = predict(fitted, other, workload, 20).windowsPerHour;
    expect(pace / predict(machine, other, workload, 20).windowsPerHour).toBeGreaterThan(0.99);
    expect(pace / predict(machine, other, workload, 20).windowsPerHour).toBeLessThan(1.01);
  });

  it("does not count windows that something else disturbed", () => {
    const disturbed = machineOf(
      probes((run) => ({
        ...run,
        windows: run.windows.map((window, i) =>
          i % 3 !== 1
            ? window
            : {
                ...window,
                time: 3 * window.time,
                learning: 3 * window.learning,
                meanwhile: {
                  ...window.meanwhile,
                  generating: 3 * window.meanwhile.generating,
                  others: 3 * window.time,
                },
              },
        ),
      })),
      workload,
    );
    const pace = predict(disturbed, settings, workload, 20).windowsPerHour;
    expect(pace / predict(machine, settings, workload, 20).windowsPerHour).toBeGreaterThan(0.93);
  });
});
