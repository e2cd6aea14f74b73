/** Metrics of a Tinker server: tokens, and their cost if the run file has prices. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type Metrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { remoteGeneration, remoteTraining } from "../../domain/metrics/run.ts";
import type { PassedTokens } from "./protocol.ts";

type Prices = Pick<RunConfig["model"]["learner"], "price_prefill" | "price_sample" | "price_train">;

const MILLION = 1e6;

/** Metrics of training. A token of a forward pass costs what one of a prompt does. */
export const trainingMetrics = (
  { price_prefill, price_train }: Prices,
  { backward, forward }: PassedTokens,
): Metrics => {
  const cost = (forward * price_prefill + backward * price_train) / MILLION;
  return metricsFrom(
    [remoteTraining.forward, forward],
    [remoteTraining.backward, backward],
    [remoteTraining.cost, price_prefill === 0 && price_train === 0 ? undefined : cost],
  );
};

/** Tokens and requests of the sampler since it began. */
export interface SamplingCounts {
  readonly prompt: number;
  readonly sampled: number;
  readonly requests: number;
}

/** Metrics of sampling. All sampled tokens count, those that were cut off included. */
export const samplingMetrics = (
  { price_prefill, price_sample }: Prices,
  { prompt, requests, sampled }: SamplingCounts,
): Metrics => {
  const cost = (prompt * price_prefill + sampled * price_sample) / MILLION;
  return metricsFrom(
    [remoteGeneration.prompted, prompt],
    [remoteGeneration.replied, sampled],
    [remoteGeneration.requests, requests],
    [remoteGeneration.cost, price_prefill === 0 && price_sample === 0 ? undefined : cost],
  );
};
