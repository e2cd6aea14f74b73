/** What is measured of a Tinker server: tokens, and what they cost where the run file has prices. Pure. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type Metrics, measured } from "../../domain/metrics/Metrics.ts";
import { remoteGeneration, remoteTraining } from "../../domain/metrics/run.ts";
import type { Passed } from "./protocol.ts";

type Prices = Pick<RunConfig["model"]["learner"], "price_prefill" | "price_sample" | "price_train">;

const MILLION = 1e6;

/** Of training. A forward pass costs what a prompt does. */
export const spent = ({ price_prefill, price_train }: Prices, { backward, forward }: Passed): Metrics => {
  const cost = (forward * price_prefill + backward * price_train) / MILLION;
  return measured(
    [remoteTraining.forward, forward],
    [remoteTraining.backward, backward],
    [remoteTraining.cost, price_prefill === 0 && price_train === 0 ? undefined : cost],
  );
};

/** Tokens of the sampling side since it began, and requests. */
export interface Sampled {
  readonly prompt: number;
  readonly sampled: number;
  readonly requests: number;
}

/** Of sampling: all that the server sampled, what was cut off too. */
export const sampling = ({ price_prefill, price_sample }: Prices, { prompt, requests, sampled }: Sampled): Metrics => {
  const cost = (prompt * price_prefill + sampled * price_sample) / MILLION;
  return measured(
    [remoteGeneration.prompted, prompt],
    [remoteGeneration.replied, sampled],
    [remoteGeneration.requests, requests],
    [remoteGeneration.cost, price_prefill === 0 && price_sample === 0 ? undefined : cost],
  );
};
