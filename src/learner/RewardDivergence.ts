/**
 * The divergence from the reference policy in the reward, and its coefficient from window to window. Invariant: taking it off changes nothing;
 * the coefficient moves when the window is trained on.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { type CreditedBatch, sequences, type TokenBatch } from "../domain/Batch.ts";
import { learner } from "../domain/metrics/learner.ts";
import { type Metrics, measured, together, valueIn } from "../domain/metrics/Metrics.ts";
import * as KlController from "./KlController.ts";
import { batchMetrics } from "./metrics.ts";
import type { Phases } from "./Phases.ts";
import { penalised } from "./rewardPenalty.ts";
import type { TrainedReference } from "./TrainedPolicy.ts";

/** What the divergence took off a window's rewards. */
export interface TakenOff {
  /** Rewards without it, [tokens]. */
  readonly scores: Float32Array;
  /** Log-probabilities under the reference policy, [tokens]. */
  readonly reference: Float32Array;
  /** Mean estimate, nats per token. */
  readonly kl: number;
  readonly coefficient: number;
}

/** The batch's statistics of its scores, which are the rewards without the divergence. */
const scoreMetrics = (batch: CreditedBatch): Metrics => {
  const all = batchMetrics(batch, false);
  const ofScores = [learner.scoreMean, learner.scoreMax, learner.scoreMin];
  return measured(...ofScores.map((metric) => [metric, valueIn(all, metric)] as const));
};

export class RewardDivergence {
  readonly #reference: TrainedReference;
  readonly #algorithm: RunConfig["algorithm"];

  constructor(reference: TrainedReference, algorithm: RunConfig["algorithm"]) {
    this.#reference = reference;
    this.#algorithm = algorithm;
  }

  /** The coefficient of a run whose state has `saved`; undefined is that of the run file. */
  #coefficient(saved: number | undefined): number {
    const { kl_coef, type } = this.#algorithm.kl_ctrl;
    return type === "fixed" ? kl_coef : (saved ?? kl_coef);
  }

  /** Rewards less the divergence, and what it took off. `saved` is the coefficient of the trainer's state. */
  async takeOff(
    batch: TokenBatch,
    saved: number | undefined,
    phases: Phases,
  ): Promise<{ readonly rewards: Float32Array; readonly taken: TakenOff }> {
    const reference = await phases.time("ref", () => this.#reference.score(batch));
    const coefficient = this.#coefficient(saved);
    const { kl, rewards } = penalised(batch, reference, { coefficient, type: this.#algorithm.kl_penalty });
    return { rewards, taken: { scores: batch.rewards, reference, kl, coefficient } };
  }

  /** The coefficient for the next window, undefined where it is fixed, and what the divergence was in this one. */
  control(
    batch: CreditedBatch,
    { coefficient, kl, scores }: TakenOff,
  ): { readonly next: number | undefined; readonly metrics: Metrics } {
    const { kl_ctrl } = this.#algorithm;
    const next = KlController.next(kl_ctrl, coefficient, { kl, sequences: sequences(batch) });
    const metrics = together(
      scoreMetrics({ ...batch, rewards: scores }),
      measured([learner.rewardKlPenalty, kl], [learner.rewardKlCoefficient, coefficient]),
    );
    return { next: kl_ctrl.type === "adaptive" ? next : undefined, metrics };
  }
}
