/**
 * The critic in training on a Tinker server that has a role for one (SkyRL-Train). A step is: values from the server, our own loss here and its gradient by
 * them, which goes to the server as returns that are off the values by it, so that the gradient of the server's squared error is that of our
 * loss; then an optimiser step. Invariant: nothing that is not finite is sent.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { CreditedBatch, TokenBatch } from "../../domain/Batch.ts";
import type { ValueLossGradient } from "../../learner/losses/ValueLossGradient.ts";
import { firstNonFinite } from "../../learner/NonFinitePart.ts";
import { skippedStep } from "../../learner/optimiser/AdamW.ts";
import type { CriticStep, TrainedCritic } from "../../learner/TrainedPolicy.ts";
import type { Model } from "./Model.ts";
import { PerToken, type Placed, placed } from "./PerToken.ts";
import type { Run } from "./run.ts";
import { adamOf, normIn } from "./TinkerActor.ts";
import { datumOf } from "./wire/Data.ts";

/** Values move by less between two passes over the same weights, so the server's own clip does nothing. */
const NO_CLIP = 1e6;

/**
 * Returns under which the server's gradient by the values of one of `count` sequences is `gradient` where `weights` is 1. Its loss is half of
 * (v - R)^2, its mean over the tokens of weight 1, then over the sequences (SkyRL, ppo_critic_loss), so its gradient is (v - R) over both counts.
 */
export const returnsFor = (
  values: Float32Array,
  gradient: Float32Array,
  weights: Float32Array,
  count: number,
): Float32Array => {
  const factor = weights.reduce((sum, weight) => sum + weight, 0) * count;
  return values.map((value, i) => value - factor * gradient[i]!);
};

export class TinkerCritic implements TrainedCritic {
  readonly #model: Model;
  readonly #loss: ValueLossGradient;
  readonly #run: Run;
  readonly #critic: RunConfig["critic"];
  readonly #values: PerToken;

  constructor(model: Model, loss: ValueLossGradient, run: Run, critic: RunConfig["critic"]) {
    this.#model = model;
    this.#loss = loss;
    this.#run = run;
    this.#critic = critic;
    this.#values = new PerToken((data) => run(model.values(data)));
  }

  values(batch: TokenBatch): Promise<Float32Array> {
    return this.#values.of(batch);
  }

  async step(batch: CreditedBatch, mini: readonly number[], lr: number, predicted: Float32Array): Promise<CriticStep> {
    const places = placed(batch, mini);
    await this.#values.into(batch, places, predicted);
    const made = await this.#loss.compute(batch, mini, predicted);
    if (made === null) return { loss: 0, ...skippedStep(null) };
    const { byValue, loss } = made;
    const fault =
      firstNonFinite(["values", predicted]) ??
      (Number.isFinite(loss) ? firstNonFinite(["gradient", byValue]) : ("loss" as const));
    if (fault !== null) return { loss, ...skippedStep(fault) };
    const metrics = await this.#train(batch, places, predicted, byValue, lr);
    return { loss, norm: normIn(metrics), applied: true, notFinite: null };
  }

  /** Sends the gradient by the values and steps along it. */
  async #train(
    batch: CreditedBatch,
    places: readonly Placed[],
    predicted: Float32Array,
    byValue: Float32Array,
    lr: number,
  ): Promise<ReadonlyMap<string, number>> {
    this.#values.forget();
    const data = places.map(({ from, to }) => {
      const weights = Float32Array.from(batch.mask.subarray(from + 1, to));
      const values = predicted.slice(from + 1, to);
      const returns = returnsFor(values, byValue.subarray(from + 1, to), weights, places.length);
      return datumOf(batch.ids.subarray(from, to), { weights, values, returns });
    });
    await this.#run(this.#model.backward(data, "ppo", { value_clip: NO_CLIP }));
    return this.#run(this.#model.step(adamOf(this.#critic, lr)));
  }

  async close(): Promise<void> {
    await this.#loss.close();
  }
}
