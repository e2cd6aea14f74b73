/** What the gauges of the generators say of the time between two moments. Pure. */
import { type Metrics, measured } from "../domain/metrics/Metrics.ts";
import { generation, tokens } from "../domain/metrics/run.ts";
import * as Gauge from "../flow/Gauge.ts";
import type { GeneratorGauges } from "./Policy.ts";

/** Undefined where there is nothing to divide by, or one of the two is not known. */
const ratio = (part: number | undefined, whole: number | undefined): number | undefined =>
  part === undefined || whole === undefined || whole === 0 ? undefined : part / whole;

/** Undefined where one of the two is not known. */
const since = (now: number | undefined, before: number | undefined): number | undefined =>
  now === undefined || before === undefined ? undefined : now - before;

/** @param elapsed seconds between the two */
export const generatorMetrics = (now: GeneratorGauges, before: GeneratorGauges, elapsed: number): Metrics => {
  const sampled = now.sampledTokens - before.sampledTokens;
  return measured(
    [tokens.generated, ratio(sampled, elapsed)],
    [tokens.prefilled, ratio(since(now.prefilledTokens, before.prefilledTokens), elapsed)],
    [generation.refilled, now.refilledTokens],
    [generation.rowsPerStep, ratio(sampled, since(now.decodeSteps, before.decodeSteps))],
    [generation.active, now.active],
    [generation.busy, now.threads && Gauge.shares(before.threads ?? null, now.threads).busy],
    [generation.adoptionMs, now.adoptions === 0 ? undefined : now.adoptionMs.last],
  );
};
