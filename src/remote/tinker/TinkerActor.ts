/**
 * The policy in training on a Tinker server. A step fetches log-probabilities, computes our own loss and its gradient by them, and sends
 * that gradient as the advantages of `importance_sampling` at ratio 1. The gradient of the server's loss is then ours, and an optimiser
 * step with our constants follows. Invariants: only finite numbers are sent; the server steps along the gradient of a local learner,
 * whatever its reduction.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TokenBatch } from "../../domain/Batch.ts";
import type { PolicyLossGradient } from "../../learner/losses/PolicyLossGradient.ts";
import { firstNonFinite, type NonFinitePart } from "../../learner/NonFinitePart.ts";
import { skippedStep } from "../../learner/optimiser/AdamW.ts";
import type { PolicyStep, PolicyTargets, TrainedPolicy } from "../../learner/TrainedPolicy.ts";
import type { RunOperation } from "./operationRunner.ts";
import type { Reduction } from "./serverTraits.ts";
import type { AdamParameters, TinkerModel } from "./TinkerModel.ts";
import { type SequenceRange, TokenScores, trainedRanges } from "./TokenScores.ts";
import { datumOf } from "./wire/Data.ts";

export interface TinkerActorOptions {
  readonly actor: RunConfig["actor"];
  readonly reduction: Reduction;
  /** Called with the server's name of each version. */
  readonly onVersion: (id: string) => void;
}

export const adamParameters = (
  {
    betas: [beta1, beta2],
    eps,
    grad_clip,
    weight_decay,
  }: Pick<RunConfig["actor" | "critic"], "betas" | "eps" | "grad_clip" | "weight_decay">,
  lr: number,
): AdamParameters => ({ learning_rate: lr, beta1, beta2, eps, weight_decay, grad_clip_norm: grad_clip });

/** The gradient's norm, which servers report under different names. */
export const normIn = (metrics: ReadonlyMap<string, number>): number | undefined =>
  [...metrics].find(([name]) => /grad_norm/.test(name))?.[1];

export class TinkerActor implements TrainedPolicy {
  readonly #model: TinkerModel;
  readonly #loss: PolicyLossGradient;
  readonly #run: RunOperation;
  readonly #options: TinkerActorOptions;
  readonly #logp: TokenScores;

  constructor(model: TinkerModel, loss: PolicyLossGradient, run: RunOperation, options: TinkerActorOptions) {
    this.#model = model;
    this.#loss = loss;
    this.#run = run;
    this.#options = options;
    this.#logp = new TokenScores((data) => run(model.forward(data)));
  }

  score(batch: TokenBatch): Promise<Float32Array> {
    return this.#logp.scoreAll(batch);
  }

  async step(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ): Promise<PolicyStep> {
    const ranges = trainedRanges(batch, mini);
    await this.#logp.scoreInto(batch, ranges, logp);
    const gradient = await this.#loss.compute(batch, mini, targets, logp);
    if (gradient === null) return { surrogate: 0, entropy: undefined, kl: undefined, ...skippedStep(null) };
    const { byLogp, ...parts } = gradient;
    const finite = [parts.surrogate, parts.kl ?? 0].every(Number.isFinite);
    const fault: NonFinitePart | null =
      firstNonFinite(["log-probabilities", logp]) ?? (finite ? firstNonFinite(["gradient", byLogp]) : "loss");
    if (fault !== null) return { ...parts, ...skippedStep(fault) };
    const metrics = await this.#train(batch, ranges, logp, byLogp, lr);
    return { ...parts, norm: normIn(metrics), applied: true, notFinite: null };
  }

  /** Sends the gradient by the log-probabilities, and steps along it. */
  async #train(
    batch: TokenBatch,
    ranges: readonly SequenceRange[],
    logp: Float32Array,
    byLogp: Float32Array,
    lr: number,
  ): Promise<ReadonlyMap<string, number>> {
    this.#logp.invalidate();
    const data = ranges.map(({ from, to }) => {
      const datum = datumOf(batch.ids.subarray(from, to));
      // The factor turns the server's reduction into a sum over tokens.
      const factor = this.#options.reduction === "sum" ? 1 : datum.tokens.length * ranges.length;
      const advantages = byLogp.slice(from + 1, to).map((gradient) => -factor * gradient);
      return { ...datum, tensors: { ...datum.tensors, logprobs: logp.slice(from + 1, to), advantages } };
    });
    await this.#run(this.#model.backward(data, "importance_sampling"));
    return this.#run(this.#model.step(adamParameters(this.#options.actor, lr)));
  }

  async commitVersion(): Promise<void> {
    this.#options.onVersion(await this.#run(this.#model.publishVersion()));
  }

  async close(): Promise<void> {
    await this.#loss.close();
  }
}
