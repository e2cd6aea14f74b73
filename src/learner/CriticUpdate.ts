/**
 * The critic's part of an update: one optimiser step for each mini-batch. Invariant: no step is taken if an input of the loss is not
 * finite.
 */
import type { CreditedBatch } from "../domain/Batch.ts";
import { learner } from "../domain/metrics/learner.ts";
import { mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { updateBatches } from "./batches.ts";
import { learningRate, type Schedule } from "./learningRate.ts";
import { countSkipped, meanOfApplied, type NetworkUpdate, outcomeOf } from "./NetworkUpdate.ts";
import { firstNonFinite } from "./NonFinitePart.ts";
import { skippedStep } from "./optimiser/AdamW.ts";
import type { CriticStep, TrainedCritic } from "./TrainedPolicy.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";
import { ValueMetrics } from "./updateMetrics.ts";

type CriticUpdateOptions = Pick<TrainerOptions, "actor" | "critic" | "seed" | "totalUpdates">;

export class CriticUpdate {
  readonly #critic: TrainedCritic;
  readonly #options: CriticUpdateOptions;
  readonly #schedule: Schedule;

  constructor(critic: TrainedCritic, options: CriticUpdateOptions) {
    const { lr, lr_warmup_steps } = options.critic;
    this.#critic = critic;
    this.#options = options;
    this.#schedule = { peak: lr, warmup: lr_warmup_steps, decay: "constant", total: options.totalUpdates };
  }

  /** Takes the optimiser steps of a window. `updates` counts the critic's earlier updates; the learning rate follows it. */
  async train(batch: CreditedBatch, updates: number): Promise<NetworkUpdate> {
    const { critic } = this.#options;
    const lr = learningRate(this.#schedule, updates);
    const valueMetrics = new ValueMetrics(critic.cliprange_value);
    const predicted = new Float32Array(batch.ids.length);
    const steps: CriticStep[] = [];
    const notFinite = firstNonFinite(["rewards", batch.rewards], ["values", batch.values], ["returns", batch.returns]);
    for (const mini of updateBatches(batch, this.#options)) {
      if (notFinite !== null) {
        steps.push({ loss: Number.NaN, ...skippedStep(notFinite) });
        continue;
      }
      steps.push(await this.#critic.step(batch, mini, lr, predicted));
      valueMetrics.add(batch, mini, predicted);
    }
    const metrics = mergeMetrics(
      valueMetrics.result(),
      metricsFrom(
        [learner.vfLoss, meanOfApplied(steps, ({ loss }) => loss)],
        [learner.criticGradNorm, meanOfApplied(steps, ({ norm }) => norm)],
        [learner.criticLr, lr],
        [learner.criticSkipped, countSkipped(steps)],
      ),
    );
    return { ...outcomeOf("critic", steps), metrics };
  }
}
