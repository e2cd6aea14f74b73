/**
 * The KL divergence from the reference policy in the reward, and its coefficient from window to window. Invariant: the coefficient moves
 * when a window is trained on, not when its rewards are penalised.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { type CreditedBatch, sequences, type TokenBatch } from "../domain/Batch.ts";
import { learner } from "../domain/metrics/learner.ts";
import { type Metrics, mergeMetrics, metricsFrom, valueIn } from "../domain/metrics/Metrics.ts";
import * as KlController from "./KlController.ts";
import type { PhaseTimes } from "./PhaseTimes.ts";
import { penaliseRewards } from "./rewardPenalty.ts";
import type { TrainedReference } from "./TrainedPolicy.ts";
import { batchMetrics } from "./updateMetrics.ts";

/** A penalty that was subtracted from a window's rewards. */
export interface RewardPenalty {
  /** Rewards before the penalty, [tokens]. */
  readonly scores: Float32Array;
  /** Log-probabilities under the reference policy, [tokens]. */
  readonly reference: Float32Array;
  /** Mean estimate of the divergence, nats per token. */
  readonly kl: number;
  readonly coefficient: number;
}

/** Returns statistics of the scores, which are the rewards without the penalty. */
const scoreMetrics = (batch: CreditedBatch): Metrics => {
  const metrics = batchMetrics(batch, false);
  const scoreEntries = [learner.scoreMean, learner.scoreMax, learner.scoreMin];
  return metricsFrom(...scoreEntries.map((metric) => [metric, valueIn(metrics, metric)] as const));
};

export class RewardDivergence {
  readonly #reference: TrainedReference;
  readonly #algorithm: RunConfig["algorithm"];

  constructor(reference: TrainedReference, algorithm: RunConfig["algorithm"]) {
    this.#reference = reference;
    this.#algorithm = algorithm;
  }

  /** Returns the trainer's saved coefficient if it adapts and has one, else the run file's. */
  #coefficient(saved: number | undefined): number {
    const { kl_coef, type } = this.#algorithm.kl_ctrl;
    return type === "fixed" ? kl_coef : (saved ?? kl_coef);
  }

  /** Subtracts the penalty from a batch's rewards. `saved` is the coefficient in the trainer's state. */
  async penalise(
    batch: TokenBatch,
    saved: number | undefined,
    phases: PhaseTimes,
  ): Promise<{ readonly rewards: Float32Array; readonly penalty: RewardPenalty }> {
    const reference = await phases.time("ref", () => this.#reference.score(batch));
    const coefficient = this.#coefficient(saved);
    const { kl, rewards } = penaliseRewards(batch, reference, { coefficient, type: this.#algorithm.kl_penalty });
    return { rewards, penalty: { scores: batch.rewards, reference, kl, coefficient } };
  }

  /** Returns this window's metrics, and the coefficient for the next window; undefined if it is fixed. */
  control(
    batch: CreditedBatch,
    { coefficient, kl, scores }: RewardPenalty,
  ): { readonly next: number | undefined; readonly metrics: Metrics } {
    const { kl_ctrl } = this.#algorithm;
    const next = KlController.next(kl_ctrl, coefficient, { kl, sequences: sequences(batch) });
    const metrics = mergeMetrics(
      scoreMetrics({ ...batch, rewards: scores }),
      metricsFrom([learner.rewardKlPenalty, kl], [learner.rewardKlCoefficient, coefficient]),
    );
    return { next: kl_ctrl.type === "adaptive" ? next : undefined, metrics };
  }
}
