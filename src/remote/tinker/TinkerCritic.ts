/**
 * The critic in training on a Tinker server with a role for one (SkyRL-Train). A step fetches the values, computes our own loss and its
 * gradient by them, and sends that gradient as returns that are off the values by it. The gradient of the server's squared error is then
 * ours, and an optimiser step follows. Invariant: only finite numbers are sent.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { CreditedBatch, TokenBatch } from "../../domain/Batch.ts";
import type { ValueLossGradient } from "../../learner/losses/ValueLossGradient.ts";
import { firstNonFinite } from "../../learner/NonFinitePart.ts";
import { skippedStep } from "../../learner/optimiser/AdamW.ts";
import type { CriticStep, TrainedCritic } from "../../learner/TrainedPolicy.ts";
import type { RunOperation } from "./operationRunner.ts";
import { adamParameters, normIn } from "./TinkerActor.ts";
import type { TinkerModel } from "./TinkerModel.ts";
import { type SequenceRange, TokenScores, trainedRanges } from "./TokenScores.ts";
import { datumOf } from "./wire/Data.ts";

/** Values of the same weights differ far less than this, so the server's own clip has no effect. */
const NO_CLIP = 1e6;

/**
 * Returns under which the server's gradient by the values of one of `count` sequences is `gradient` where `weights` is 1. The server's loss
 * is (v - R)^2 / 2, averaged over the tokens of weight 1 and then over the sequences (SkyRL, ppo_critic_loss). Its gradient is therefore (v
 * - R) over both counts.
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
  readonly #model: TinkerModel;
  readonly #loss: ValueLossGradient;
  readonly #run: RunOperation;
  readonly #critic: RunConfig["critic"];
  readonly #values: TokenScores;

  constructor(model: TinkerModel, loss: ValueLossGradient, run: RunOperation, critic: RunConfig["critic"]) {
    this.#model = model;
    this.#loss = loss;
    this.#run = run;
    this.#critic = critic;
    this.#values = new TokenScores((data) => run(model.values(data)));
  }

  values(batch: TokenBatch): Promise<Float32Array> {
    return this.#values.scoreAll(batch);
  }

  async step(batch: CreditedBatch, mini: readonly number[], lr: number, predicted: Float32Array): Promise<CriticStep> {
    const ranges = trainedRanges(batch, mini);
    await this.#values.scoreInto(batch, ranges, predicted);
    const gradient = await this.#loss.compute(batch, mini, predicted);
    if (gradient === null) return { loss: 0, ...skippedStep(null) };
    const { byValue, loss } = gradient;
    const fault =
      firstNonFinite(["values", predicted]) ??
      (Number.isFinite(loss) ? firstNonFinite(["gradient", byValue]) : ("loss" as const));
    if (fault !== null) return { loss, ...skippedStep(fault) };
    const metrics = await this.#train(batch, ranges, predicted, byValue, lr);
    return { loss, norm: normIn(metrics), applied: true, notFinite: null };
  }

  /** Sends the gradient by the values, and steps along it. */
  async #train(
    batch: CreditedBatch,
    ranges: readonly SequenceRange[],
    predicted: Float32Array,
    byValue: Float32Array,
    lr: number,
  ): Promise<ReadonlyMap<string, number>> {
    this.#values.invalidate();
    const data = ranges.map(({ from, to }) => {
      const weights = Float32Array.from(batch.mask.subarray(from + 1, to));
      const values = predicted.slice(from + 1, to);
      const returns = returnsFor(values, byValue.subarray(from + 1, to), weights, ranges.length);
      return datumOf(batch.ids.subarray(from, to), { weights, values, returns });
    });
    await this.#run(this.#model.backward(data, "ppo", { value_clip: NO_CLIP }));
    return this.#run(this.#model.step(adamParameters(this.#critic, lr)));
  }

  async close(): Promise<void> {
    await this.#loss.close();
  }
}
