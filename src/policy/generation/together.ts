/** The gauges of several generator threads as those of one generator: levels, counters and time add up, the oldest version counts. */
import type { StageSample } from "../../stage/Gauge.ts";
import type { GeneratorGauges } from "./Policy.ts";

/** Adds `b`'s slots, levels and slot-time to `a`'s. */
const addSamples = (a: StageSample, b: StageSample): StageSample => ({
  name: a.name,
  kind: a.kind,
  elapsedMs: Math.max(a.elapsedMs, b.elapsedMs),
  concurrency: a.concurrency + b.concurrency,
  capacity: a.capacity + b.capacity,
  running: a.running + b.running,
  blocked: a.blocked + b.blocked,
  queue: a.queue + b.queue,
  items: a.items + b.items,
  busyMs: a.busyMs + b.busyMs,
  blockedMs: a.blockedMs + b.blockedMs,
  starvedMs: a.starvedMs + b.starvedMs,
  queueMs: a.queueMs + b.queueMs,
});

const add = (a: GeneratorGauges, b: GeneratorGauges): GeneratorGauges => ({
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
  threads: addSamples(a.threads, b.threads),
});

/** Sums over threads, of which there is one at least; adoption times are the longest. */
export const together = (gauges: readonly GeneratorGauges[]): GeneratorGauges => gauges.reduce(add);
