/**
 * Measures how long the main thread's event loop is blocked while real threads train: the quickstart in async, from
 * its first recorded step to its end.
 */
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import type { Bench } from "./Bench.ts";
import { trainingRun } from "./trainingRun.ts";

const SECONDS = 20;
/** The monitor's timer, milliseconds; its delays include it. */
const RESOLUTION = 2;

export const bench: Bench = {
  question: "how long is the main event loop held up while training?",
  parts: [
    async () => {
      const monitor = monitorEventLoopDelay({ resolution: RESOLUTION });
      let before = performance.eventLoopUtilization();
      const steps = await trainingRun({
        overrides: ["pipeline.mode=async"],
        lasts: { seconds: SECONDS },
        stepped: () => {
          before = performance.eventLoopUtilization();
          monitor.enable();
        },
      });
      monitor.disable();
      const used = performance.eventLoopUtilization(before);
      const lag = (percentile: number): number => Math.max(0, monitor.percentile(percentile) / 1e6 - RESOLUTION);
      return () => [
        {
          name: "lag, p99",
          value: lag(99),
          unit: "ms",
          target: { atMost: 20 },
          note: `${monitor.count} samples over ${steps.length} windows`,
        },
        { name: "lag, median", value: lag(50), unit: "ms" },
        { name: "lag, longest", value: lag(100), unit: "ms" },
        { name: "share of time the main loop works", value: used.utilization, unit: "" },
      ];
    },
  ],
};
