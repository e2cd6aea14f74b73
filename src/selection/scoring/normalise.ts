/**
 * Reward normalisation over one set of episodes, by RAGEN's four methods. Pure. Invariant: a set without spread normalises to zeros
 * (except under `identity`); nothing is divided by a deviation near 0.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { mean, standardDeviation } from "../../domain/Statistics.ts";

export type Method = RunConfig["reward"]["method"];

/** Below this the spread counts as none; also added to the divisor. */
const tiny = 1e-6;

const standardised = (values: readonly number[]): readonly number[] => {
  const deviation = standardDeviation(values);
  if (deviation <= tiny) return values.map(() => 0);
  const centre = mean(values);
  return values.map((value) => (value - centre) / (deviation + tiny));
};

const centred = (values: readonly number[]): readonly number[] => {
  const centre = mean(values);
  return values.map((value) => value - centre);
};

export const normalise: Readonly<Record<Method, (values: readonly number[]) => readonly number[]>> = {
  identity: (values) => values,
  mean: centred,
  mean_std: standardised,
  asym_clip: (values) => standardised(values).map((value) => Math.min(3, Math.max(-1, value))),
};
