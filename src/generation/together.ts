/** The gauges of several generator threads as those of one generator: levels, counters and time add up, the oldest version counts. */
import { sum } from "../flow/Gauge.ts";
import type { ThreadGauges } from "./Policy.ts";

const add = (a: ThreadGauges, b: ThreadGauges): ThreadGauges => ({
  version: Math.min(a.version, b.version),
  slots: a.slots + b.slots,
  active: a.active + b.active,
  idle: a.idle + b.idle,
  sampledTokens: a.sampledTokens + b.sampledTokens,
  prefilledTokens: a.prefilledTokens + b.prefilledTokens,
  refilledTokens: a.refilledTokens + b.refilledTokens,
  decodeSteps: a.decodeSteps + b.decodeSteps,
  adoptions: a.adoptions + b.adoptions,
  adoptionMs: {
    last: Math.max(a.adoptionMs.last, b.adoptionMs.last),
    max: Math.max(a.adoptionMs.max, b.adoptionMs.max),
  },
  threads: sum(a.threads, b.threads),
});

/** Sums over threads, of which there is one at least; adoption times are the longest. */
export const together = (gauges: readonly ThreadGauges[]): ThreadGauges => gauges.reduce(add);
