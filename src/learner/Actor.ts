/**
 * The policy in training: forward-only scoring of a batch, and one optimiser step over a mini-batch cut into micro-batches.
 * Token batches enter, log-probabilities and loss parts leave. Not re-entrant: the learner's thread runs one command at a time.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import type { Qwen2Config } from "../policy/model/Architecture.ts";
import type { Parameters } from "../policy/model/Parameters.ts";
import { scoreModel } from "../policy/model/Score.ts";
import { type Feeds, float32, int64, Session } from "../policy/runtime/Session.ts";
import type { AdamWOptions } from "./adamw.ts";
import { type MicroBatch, microBatches, paddedIds, paddedTargets, scatterTargets, tokenWeights } from "./batches.ts";
import { actorModel, policyLossOptions } from "./models.ts";
import { accumulate, type Moments, Network, type StepResult } from "./Network.ts";

/** What the policy's loss needs beside the ids, each [tokens]. */
export interface PolicyTargets {
  /** Log-probability the ratio is taken against. */
  readonly old: Float32Array;
  readonly advantages: Float32Array;
  readonly importance: Float32Array;
  /** Log-probability under the reference policy, with a KL loss. */
  readonly reference: Float32Array | undefined;
}

/** Parts of the policy's loss over a mini-batch, aggregated, before their coefficients. */
export interface PolicyParts {
  readonly surrogate: number;
  readonly entropy: number;
  readonly kl: number;
}

export interface PolicyGradient extends PolicyParts {
  /** [parameters], in their order. */
  readonly gradient: Float32Array;
}

export interface ActorStep extends PolicyParts, StepResult {}

export interface ActorOptions {
  readonly actor: RunConfig["actor"];
  readonly threads: number;
}

export const actorOptimiser = (actor: RunConfig["actor"]): AdamWOptions => ({
  betas: actor.betas,
  eps: actor.eps,
  weightDecay: actor.weight_decay,
  gradClip: actor.grad_clip,
});

const scalar = (value: number) => float32(Float32Array.of(value), []);

export const idsFeed = (batch: TokenBatch, micro: MicroBatch) =>
  int64(paddedIds(batch, micro), [micro.sequences.length, micro.time]);

/** Padded per-target inputs by name, from arrays over positions. */
export const targetFeeds = (
  batch: TokenBatch,
  micro: MicroBatch,
  arrays: Readonly<Record<string, Float32Array>>,
): Feeds =>
  Object.fromEntries(
    Object.entries(arrays).map(([name, array]) => [
      name,
      float32(paddedTargets(batch, micro, array), [micro.sequences.length, micro.time - 1]),
    ]),
  );

export class Actor implements AsyncDisposable {
  readonly network: Network;
  readonly #options: ActorOptions;
  readonly #step: Session;
  readonly #openScore: () => Promise<Session>;
  /** Opened when first needed: clipped PPO against mu scores nothing. */
  #score: Promise<Session> | undefined;

  private constructor(network: Network, options: ActorOptions, step: Session, openScore: () => Promise<Session>) {
    this.network = network;
    this.#options = options;
    this.#step = step;
    this.#openScore = openScore;
  }

  static async open(
    config: Qwen2Config,
    parameters: Parameters,
    options: ActorOptions,
    moments?: Moments,
  ): Promise<Actor> {
    const { threads, actor } = options;
    const network = await Network.open(parameters, actorOptimiser(actor), threads, moments);
    const step = await Session.open(actorModel(config, policyLossOptions(actor)), { threads });
    return new Actor(network, options, step, () => Session.open(scoreModel(config), { threads }));
  }

  /** Log-probability of every id of the batch given those before it, [tokens]; `weights` default to the current ones. */
  async score(batch: TokenBatch, weights: Feeds = this.network.feeds): Promise<Float32Array> {
    this.#score ??= this.#openScore();
    const session = await this.#score;
    const logp = new Float32Array(batch.ids.length);
    const all = Array.from({ length: batch.offsets.length - 1 }, (_, i) => i);
    for (const micro of microBatches(batch, all, this.#options.actor.micro_batch_tokens)) {
      const feeds = { ...weights, ids: idsFeed(batch, micro), temperature: scalar(batch.temperature) };
      using results = await session.run(feeds, ["logp"]);
      scatterTargets(batch, micro, results.float32("logp"), logp);
    }
    return logp;
  }

  /**
   * Gradient of the mini-batch's loss and the loss's parts, summed over its micro-batches; null for a mini-batch without
   * sequences. The log-probabilities are written into `logp` [tokens].
   */
  async gradient(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    logp: Float32Array,
  ): Promise<PolicyGradient | null> {
    const { actor } = this.#options;
    const weights = tokenWeights(batch, mini, actor.loss_agg_mode);
    const { old, advantages, importance, reference } = targets;
    const arrays = { old, advantages, importance, weights, ...(reference === undefined ? {} : { reference }) };
    let gradient: Float32Array | undefined;
    const parts = { surrogate: 0, entropy: 0, kl: 0 };
    for (const micro of microBatches(batch, mini, actor.micro_batch_tokens)) {
      using results = await this.#step.run({
        ...this.network.feeds,
        ids: idsFeed(batch, micro),
        temperature: scalar(batch.temperature),
        ...targetFeeds(batch, micro, arrays),
      });
      gradient = accumulate(gradient, results.float32("gradient"));
      scatterTargets(batch, micro, results.float32("logp"), logp);
      parts.surrogate += results.float32("surrogate")[0];
      parts.entropy += results.float32("entropy")[0];
      if (actor.use_kl_loss) parts.kl += results.float32("kl")[0];
    }
    return gradient === undefined ? null : { ...parts, gradient };
  }

  /** One optimiser step over the mini-batch `mini`; `logp` [tokens] receives the log-probabilities before it. */
  async step(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ): Promise<ActorStep> {
    const made = await this.gradient(batch, mini, targets, logp);
    if (made === null) return { surrogate: 0, entropy: 0, kl: 0, norm: 0, applied: false };
    const { gradient, ...parts } = made;
    return { ...parts, ...(await this.network.step(gradient, lr)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      this.#step.close(),
      this.#score?.then((session) => session.close()),
      this.network[Symbol.asyncDispose](),
    ]);
  }
}
