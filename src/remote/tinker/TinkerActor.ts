/**
 * The policy in training on a Tinker server. A step is: log-probabilities from the server, our own loss here and its gradient by them, which goes to the server
 * as `importance_sampling` at ratio 1, so that it is the gradient of our loss; then an optimiser step with our constants. Invariants: nothing that
 * is not finite is sent; the gradient that the server steps along is the one that a local learner would, whatever its reduction.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import type { Reduction } from "../../domain/TinkerServer.ts";
import type { LossGradient } from "../../learner/losses/LossGradient.ts";
import { among, type NotFinite } from "../../learner/NotFinite.ts";
import { untaken } from "../../learner/optimiser/AdamW.ts";
import type { PolicyStep, PolicyTargets, TrainedPolicy } from "../../learner/TrainedPolicy.ts";
import { allFinite } from "../../policy/model/finite.ts";
import type { Adam, Model } from "./Model.ts";
import type { Run } from "./run.ts";
import { type Datum, datumOf } from "./wire/Data.ts";

export interface ActorOptions {
  readonly actor: RunConfig["actor"];
  readonly reduction: Reduction;
  /** Is told the server's name of each version. */
  readonly settled: (id: string) => void;
}

/** A sequence that has a target, and where it lies in the batch. */
interface Placed {
  readonly from: number;
  readonly to: number;
}

/** The sequences of a mini-batch that have a trained id with something before it. */
const placed = (batch: TokenBatch, mini: readonly number[]): readonly Placed[] =>
  mini
    .map((sequence) => boundsOf(batch, sequence))
    .filter(([from, to]) => batch.mask.subarray(from + 1, to).some((m) => m !== 0))
    .map(([from, to]) => ({ from, to }));

/** Adam's constants of a step at rate `lr`. */
export const adamOf = (
  {
    betas: [beta1, beta2],
    eps,
    grad_clip,
    weight_decay,
  }: Pick<RunConfig["actor"], "betas" | "eps" | "grad_clip" | "weight_decay">,
  lr: number,
): Adam => ({ learning_rate: lr, beta1, beta2, eps, weight_decay, grad_clip_norm: grad_clip });

/** The norm of the gradient, under whatever name the server has for it. */
export const normIn = (metrics: ReadonlyMap<string, number>): number | undefined =>
  [...metrics].find(([name]) => /grad_norm/.test(name))?.[1];

/** What each datum's gradient is multiplied by, so that the server's reduction of all `count` of them is a sum over tokens. */
const factorOf = (reduction: Reduction, { tokens }: Datum, count: number): number =>
  reduction === "sum" ? 1 : tokens.length * count;

export class TinkerActor implements TrainedPolicy {
  readonly #model: Model;
  readonly #loss: LossGradient;
  readonly #run: Run;
  readonly #options: ActorOptions;
  /** What a batch was scored by the weights as they are; a step begins with the same numbers. */
  #scored: { readonly ids: Int32Array; readonly logp: Float32Array } | undefined;

  constructor(model: Model, loss: LossGradient, run: Run, options: ActorOptions) {
    this.#model = model;
    this.#loss = loss;
    this.#run = run;
    this.#options = options;
  }

  async score(batch: TokenBatch): Promise<Float32Array> {
    const logp = new Float32Array(batch.ids.length);
    await this.#forward(batch, placed(batch, allSequences(batch)), logp);
    this.#scored = { ids: batch.ids, logp };
    return logp.slice();
  }

  async step(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ): Promise<PolicyStep> {
    const places = placed(batch, mini);
    const known = this.#scored?.ids === batch.ids ? this.#scored.logp : undefined;
    if (known === undefined) await this.#forward(batch, places, logp);
    else for (const { from, to } of places) logp.set(known.subarray(from, to), from);
    const made = await this.#loss.of(batch, mini, targets, logp);
    if (made === null) return { surrogate: 0, entropy: undefined, kl: undefined, ...untaken(null) };
    const { byLogp, ...parts } = made;
    const finite = [parts.surrogate, parts.kl ?? 0].every(Number.isFinite);
    const fault: NotFinite | null =
      among(["log-probabilities", logp]) ?? (finite ? among(["gradient", byLogp]) : "loss");
    if (fault !== null) return { ...parts, ...untaken(fault) };
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
    this.#scored = undefined;
    const data = places.map(({ from, to }) => {
      const bare = datumOf(batch.ids.subarray(from, to));
      const factor = factorOf(this.#options.reduction, bare, places.length);
      const advantages = byLogp.slice(from + 1, to).map((gradient) => -factor * gradient);
      return { ...bare, tensors: { ...bare.tensors, logprobs: logp.slice(from + 1, to), advantages } };
    });
    await this.#run(this.#model.backward(data, "importance_sampling"));
    return this.#run(this.#model.step(adamOf(this.#options.actor, lr)));
  }

  /** Writes the log-probabilities of the sequences' trained ids. A sequence of which any is not finite has none. */
  async #forward(batch: TokenBatch, places: readonly Placed[], into: Float32Array): Promise<void> {
    const data = places.map(({ from, to }) => datumOf(batch.ids.subarray(from, to)));
    const found = await this.#run(this.#model.forward(data));
    for (const [i, { from, to }] of places.entries()) {
      const values = found[i] ?? new Float32Array(to - from - 1);
      const whole = allFinite(values);
      for (let t = from + 1; t < to; t++) {
        if (batch.mask[t] !== 0) into[t] = whole ? values[t - from - 1]! : Number.NaN;
      }
    }
  }

  async settle(): Promise<void> {
    this.#options.settled(await this.#run(this.#model.forSampling()));
  }

  async close(): Promise<void> {
    await this.#loss.close();
  }
}
