/** What training one network on a window came to, from its optimiser steps. */
import type { Metrics } from "../domain/metrics/Metrics.ts";
import { mean } from "../domain/Statistics.ts";
import type { UntrainedNetwork } from "./NonFinitePart.ts";
import type { OptimiserStep } from "./TrainedPolicy.ts";

export interface NetworkUpdate {
  /** Whether any optimiser step changed the network. */
  readonly applied: boolean;
  /** Why no step did; null where one did or there was nothing to do. */
  readonly untrained: UntrainedNetwork | null;
  readonly metrics: Metrics;
}

/** Mean of `part` over the steps that were applied; undefined where none was, or where they have no such part. */
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
