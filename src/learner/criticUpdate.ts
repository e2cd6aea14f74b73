/** The critic's part of an update: one optimiser step for each mini-batch. Invariant: no step is taken where what the loss reads is not finite. */
import type { CreditedBatch } from "../domain/Batch.ts";
import { learner } from "../domain/metrics/learner.ts";
import { measured, together } from "../domain/metrics/Metrics.ts";
import { ValueMetrics } from "./metrics.ts";
import { countSkipped, meanOfApplied, type NetworkUpdate, outcomeOf } from "./NetworkUpdate.ts";
import { among } from "./NotFinite.ts";
import { untaken } from "./optimiser/AdamW.ts";
import type { CriticStep, TrainedCritic } from "./TrainedPolicy.ts";

export interface CriticUpdateOptions {
  /** Sequences of each mini-batch, in the order of the steps. */
  readonly minis: readonly (readonly number[])[];
  readonly lr: number;
  /** `critic.cliprange_value`, for the statistics. */
  readonly clipRange: number;
}

export const updateCritic = async (
  critic: TrainedCritic,
  batch: CreditedBatch,
  { clipRange, lr, minis }: CriticUpdateOptions,
): Promise<NetworkUpdate> => {
  const statistics = new ValueMetrics(clipRange);
  const predicted = new Float32Array(batch.ids.length);
  const steps: CriticStep[] = [];
  const notFinite = among(["rewards", batch.rewards], ["values", batch.values], ["returns", batch.returns]);
  for (const mini of minis) {
    if (notFinite !== null) {
      steps.push({ loss: Number.NaN, ...untaken(notFinite) });
      continue;
    }
    steps.push(await critic.step(batch, mini, lr, predicted));
    statistics.add(batch, mini, predicted);
  }
  const metrics = together(
    statistics.result(),
    measured(
      [learner.vfLoss, meanOfApplied(steps, ({ loss }) => loss)],
      [learner.criticGradNorm, meanOfApplied(steps, ({ norm }) => norm)],
      [learner.criticLr, lr],
      [learner.criticSkipped, countSkipped(steps)],
    ),
  );
  return { ...outcomeOf("critic", steps), metrics };
};
