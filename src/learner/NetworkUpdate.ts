/** The outcome of training one network on a window, from its optimiser steps. */
import type { Metrics } from "../domain/metrics/Metrics.ts";
import { mean } from "../domain/Statistics.ts";
import type { UntrainedNetwork } from "./NonFinitePart.ts";
import type { OptimiserStep } from "./TrainedPolicy.ts";

export interface NetworkUpdate {
  /** True if an optimiser step changed the network. */
  readonly applied: boolean;
  /** Says why no step was applied; null if one was, or if there was nothing to do. */
  readonly untrained: UntrainedNetwork | null;
  readonly metrics: Metrics;
}

/** Returns the mean of `part` over the applied steps; undefined if no applied step has it. */
export const meanOfApplied = <Step extends OptimiserStep>(
  steps: readonly Step[],
  part: (step: Step) => number | undefined,
): number | undefined => {
  const parts = steps.filter(({ applied }) => applied).flatMap((step) => part(step) ?? []);
  return parts.length === 0 ? undefined : mean(parts);
};

export const countSkipped = (steps: readonly OptimiserStep[]): number => steps.filter(({ applied }) => !applied).length;

export const outcomeOf = (
  network: UntrainedNetwork["network"],
  steps: readonly OptimiserStep[],
): Omit<NetworkUpdate, "metrics"> => {
  const applied = steps.some((step) => step.applied);
  const notFinite = steps.find((step) => step.notFinite !== null)?.notFinite ?? null;
  return { applied, untrained: applied || notFinite === null ? null : { network, notFinite } };
};
