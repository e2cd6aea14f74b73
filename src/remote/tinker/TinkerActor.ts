/**
 * The policy in training on a Tinker server. A step is: log-probabilities from the server, our own loss here and its gradient by them, which goes to the server
 * as `importance_sampling` at ratio 1, so that it is the gradient of our loss; then an optimiser step with our constants. Invariants: nothing that
 * is not finite is sent; the gradient that the server steps along is the one that a local learner would, whatever its reduction.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TokenBatch } from "../../domain/Batch.ts";
import type { PolicyLossGradient } from "../../learner/losses/PolicyLossGradient.ts";
import { firstNonFinite, type NonFinitePart } from "../../learner/NonFinitePart.ts";
import { skippedStep } from "../../learner/optimiser/AdamW.ts";
import type { PolicyStep, PolicyTargets, TrainedPolicy } from "../../learner/TrainedPolicy.ts";
import type { Adam, Model } from "./Model.ts";
import { PerToken, type Placed, placed } from "./PerToken.ts";
import type { Run } from "./run.ts";
import type { Reduction } from "./servers.ts";
import { datumOf } from "./wire/Data.ts";

export interface ActorOptions {
  readonly actor: RunConfig["actor"];
  readonly reduction: Reduction;
  /** Is told the server's name of each version. */
  readonly settled: (id: string) => void;
}

/** Adam's constants of a step at rate `lr`. */
export const adamOf = (
  {
    betas: [beta1, beta2],
    eps,
    grad_clip,
    weight_decay,
  }: Pick<RunConfig["actor" | "critic"], "betas" | "eps" | "grad_clip" | "weight_decay">,
  lr: number,
): Adam => ({ learning_rate: lr, beta1, beta2, eps, weight_decay, grad_clip_norm: grad_clip });

/** The norm of the gradient, under whatever name the server has for it. */
export const normIn = (metrics: ReadonlyMap<string, number>): number | undefined =>
  [...metrics].find(([name]) => /grad_norm/.test(name))?.[1];

export class TinkerActor implements TrainedPolicy {
  readonly #model: Model;
  readonly #loss: PolicyLossGradient;
  readonly #run: Run;
  readonly #options: ActorOptions;
  readonly #logp: PerToken;

  constructor(model: Model, loss: PolicyLossGradient, run: Run, options: ActorOptions) {
    this.#model = model;
    this.#loss = loss;
    this.#run = run;
    this.#options = options;
    this.#logp = new PerToken((data) => run(model.forward(data)));
  }

  score(batch: TokenBatch): Promise<Float32Array> {
    return this.#logp.of(batch);
  }

  async step(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ): Promise<PolicyStep> {
    const places = placed(batch, mini);
    await this.#logp.into(batch, places, logp);
    const made = await this.#loss.compute(batch, mini, targets, logp);
    if (made === null) return { surrogate: 0, entropy: undefined, kl: undefined, ...skippedStep(null) };
    const { byLogp, ...parts } = made;
    const finite = [parts.surrogate, parts.kl ?? 0].every(Number.isFinite);
    const fault: NonFinitePart | null =
      firstNonFinite(["log-probabilities", logp]) ?? (finite ? firstNonFinite(["gradient", byLogp]) : "loss");
    if (fault !== null) return { ...parts, ...skippedStep(fault) };
    const metrics = await this.#train(batch, places, logp, byLogp, lr);
    return { ...parts, norm: normIn(metrics), applied: true, notFinite: null };
  }

  /** Sends the gradient by the log-probabilities and steps along it. */
  async #train(
    batch: TokenBatch,
    places: readonly Placed[],
    logp: Float32Array,
    byLogp: Float32Array,
    lr: number,
  ): Promise<ReadonlyMap<string, number>> {
    this.#logp.forget();
    const data = places.map(({ from, to }) => {
      const bare = datumOf(batch.ids.subarray(from, to));
      // Whatever the server's reduction of all sequences is, it comes to a sum over tokens.
      const factor = this.#options.reduction === "sum" ? 1 : bare.tokens.length * places.length;
      const advantages = byLogp.slice(from + 1, to).map((gradient) => -factor * gradient);
      return { ...bare, tensors: { ...bare.tensors, logprobs: logp.slice(from + 1, to), advantages } };
    });
    await this.#run(this.#model.backward(data, "importance_sampling"));
    return this.#run(this.#model.step(adamOf(this.#options.actor, lr)));
  }

  async commitVersion(): Promise<void> {
    this.#options.settled(await this.#run(this.#model.forSampling()));
  }

  async close(): Promise<void> {
    await this.#loss.close();
  }
}
