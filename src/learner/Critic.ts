/**
 * The critic in training: the actor's trunk with a value head. Token batches enter, values per token and the parts of its loss leave.
 * The value of a token is that of the text before it, the state in which it was sampled.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { CreditedBatch, TokenBatch } from "../domain/Batch.ts";
import { criticParameters, type Qwen2Config } from "../policy/model/Architecture.ts";
import { adopt, type Parameters, parametersOf } from "../policy/model/Parameters.ts";
import { Session } from "../policy/runtime/Session.ts";
import { idsFeed, targetFeeds } from "./Actor.ts";
import { type Aggregation, microBatches, scatterTargets, tokenWeights } from "./batches.ts";
import { criticModel, valuesModel } from "./models.ts";
import { accumulate, type Moments, Network, type StepResult } from "./Network.ts";

export interface CriticOptions {
  readonly critic: RunConfig["critic"];
  readonly aggregation: Aggregation;
  readonly microBatchTokens: number;
  readonly threads: number;
}

export interface CriticStep extends StepResult {
  readonly loss: number;
}

/** A critic's first parameters: a copy of the policy's trunk and a head of zeros, so that its first values are 0. */
export const criticFrom = (config: Qwen2Config, policy: Parameters): Parameters => {
  const specs = criticParameters(config);
  return adopt(specs, policy, parametersOf(specs));
};

export class Critic implements AsyncDisposable {
  readonly network: Network;
  readonly #options: CriticOptions;
  readonly #step: Session;
  readonly #values: Session;

  private constructor(network: Network, options: CriticOptions, step: Session, values: Session) {
    this.network = network;
    this.#options = options;
    this.#step = step;
    this.#values = values;
  }

  static async open(
    config: Qwen2Config,
    parameters: Parameters,
    options: CriticOptions,
    moments?: Moments,
  ): Promise<Critic> {
    const { critic, threads } = options;
    const adamw = {
      betas: critic.betas,
      eps: critic.eps,
      weightDecay: critic.weight_decay,
      gradClip: critic.grad_clip,
    };
    const network = await Network.open(parameters, adamw, threads, moments);
    const step = await Session.open(criticModel(config, critic.cliprange_value), { threads });
    const values = await Session.open(valuesModel(config), { threads });
    return new Critic(network, options, step, values);
  }

  /** Value of every token, [tokens]; 0 at the first position of a sequence. */
  async values(batch: TokenBatch): Promise<Float32Array> {
    const values = new Float32Array(batch.ids.length);
    const all = Array.from({ length: batch.offsets.length - 1 }, (_, i) => i);
    for (const micro of microBatches(batch, all, this.#options.microBatchTokens)) {
      using results = await this.#values.run({ ...this.network.feeds, ids: idsFeed(batch, micro) });
      scatterTargets(batch, micro, results.float32("values"), values);
    }
    return values;
  }

  /**
   * Gradient of the mini-batch's loss, summed over its micro-batches; null for a mini-batch without sequences. The values are
   * written into `predicted` [tokens].
   */
  async gradient(
    batch: CreditedBatch,
    mini: readonly number[],
    predicted: Float32Array,
  ): Promise<{ readonly gradient: Float32Array; readonly loss: number } | null> {
    const { aggregation, microBatchTokens } = this.#options;
    const weights = tokenWeights(batch, mini, aggregation);
    let gradient: Float32Array | undefined;
    let loss = 0;
    for (const micro of microBatches(batch, mini, microBatchTokens)) {
      using results = await this.#step.run({
        ...this.network.feeds,
        ids: idsFeed(batch, micro),
        ...targetFeeds(batch, micro, { old: batch.values, returns: batch.returns, weights }),
      });
      gradient = accumulate(gradient, results.float32("gradient"));
      scatterTargets(batch, micro, results.float32("values"), predicted);
      loss += results.float32("loss")[0];
    }
    return gradient === undefined ? null : { gradient, loss };
  }

  /** One optimiser step over the mini-batch `mini`; `predicted` [tokens] receives the values before it. */
  async step(batch: CreditedBatch, mini: readonly number[], lr: number, predicted: Float32Array): Promise<CriticStep> {
    const made = await this.gradient(batch, mini, predicted);
    if (made === null) return { loss: 0, norm: 0, applied: false };
    return { loss: made.loss, ...(await this.network.step(made.gradient, lr)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#step.close(), this.#values.close(), this.network[Symbol.asyncDispose]()]);
  }
}
