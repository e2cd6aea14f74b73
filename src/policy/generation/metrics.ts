/** What the gauges of the generators say of the time between two moments. Pure. */
import { type Metrics, measured } from "../../domain/metrics/Metrics.ts";
import { generation, tokens } from "../../domain/metrics/run.ts";
import * as Gauge from "../../stage/Gauge.ts";
import type { GeneratorGauges } from "./Policy.ts";

/** Undefined where there is nothing to divide by. */
const ratio = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

/** @param elapsed seconds between the two */
export const metrics = (now: GeneratorGauges, before: GeneratorGauges, elapsed: number): Metrics => {
  const sampled = now.sampledTokens - before.sampledTokens;
  return measured(
    [tokens.generated, ratio(sampled, elapsed)],
    [tokens.prefilled, ratio(now.prefilledTokens - before.prefilledTokens, elapsed)],
    [generation.refilled, now.refilledTokens],
    [generation.rowsPerStep, ratio(sampled, now.decodeSteps - before.decodeSteps)],
    [generation.active, now.active],
    [generation.busy, Gauge.shares(before.threads, now.threads).busy],
    [generation.adoptionMs, now.adoptions === 0 ? undefined : now.adoptionMs.last],
  );
};
