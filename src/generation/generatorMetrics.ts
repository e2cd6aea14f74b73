/** Metrics of the generators between two samples of their gauges. */
import { type Metrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { generation, tokens } from "../domain/metrics/run.ts";
import * as Gauge from "../flow/Gauge.ts";
import type { GeneratorGauges } from "./Policy.ts";

/** Returns undefined if the whole is 0, or if either number is unknown. */
const ratio = (part: number | undefined, whole: number | undefined): number | undefined =>
  part === undefined || whole === undefined || whole === 0 ? undefined : part / whole;

/** Returns undefined if either number is unknown. */
const since = (now: number | undefined, before: number | undefined): number | undefined =>
  now === undefined || before === undefined ? undefined : now - before;

/** @param elapsed seconds between the two samples */
export const generatorMetrics = (now: GeneratorGauges, before: GeneratorGauges, elapsed: number): Metrics => {
  const sampled = now.sampledTokens - before.sampledTokens;
  return metricsFrom(
    [tokens.generated, ratio(sampled, elapsed)],
    [tokens.prefilled, ratio(since(now.prefilledTokens, before.prefilledTokens), elapsed)],
    [generation.refilled, now.refedTokens],
    [generation.rowsPerStep, ratio(sampled, since(now.decodeSteps, before.decodeSteps))],
    [
      generation.splitShare,
      ratio(since(now.splitSteps, before.splitSteps), since(now.decodeSteps, before.decodeSteps)),
    ],
    [generation.active, now.active],
    [generation.busy, now.threads && Gauge.shares(before.threads ?? null, now.threads).busy],
    [generation.adoptionMs, now.adoptions === 0 ? undefined : now.adoptionMs.last],
  );
};
