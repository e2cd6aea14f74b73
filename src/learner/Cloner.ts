/**
 * Behaviour cloning: the mean negative log-likelihood of a batch's masked tokens, one optimiser step per batch. Token batches enter
 * (the mask marks the targets), the loss before the step leaves.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import { trainedTokens } from "../domain/Batch.ts";
import type { Qwen2Config } from "../policy/model/Architecture.ts";
import { Session } from "../policy/runtime/Session.ts";
import { idsFeed, targetFeeds } from "./Actor.ts";
import { microBatches, tokenWeights } from "./batches.ts";
import { cloningModel } from "./models.ts";
import { accumulate, type Network } from "./Network.ts";

export interface CloningReport {
  /** Nats per target token, before the step. */
  readonly loss: number;
  readonly gradNorm: number;
  readonly tokens: number;
  /** False when the gradient was not finite and nothing changed. */
  readonly applied: boolean;
}

export class Cloner implements AsyncDisposable {
  readonly #network: Network;
  readonly #session: Session;
  readonly #microBatchTokens: number;

  private constructor(network: Network, session: Session, microBatchTokens: number) {
    this.#network = network;
    this.#session = session;
    this.#microBatchTokens = microBatchTokens;
  }

  /** Trains `network`, which stays its owner's. */
  static async open(
    config: Qwen2Config,
    network: Network,
    options: { readonly threads: number; readonly actor: RunConfig["actor"] },
  ): Promise<Cloner> {
    const session = await Session.open(cloningModel(config), { threads: options.threads });
    return new Cloner(network, session, options.actor.micro_batch_tokens);
  }

  async step(batch: TokenBatch, lr: number): Promise<CloningReport> {
    const sequences = Array.from({ length: batch.offsets.length - 1 }, (_, i) => i);
    const weights = tokenWeights(batch, sequences, "token-mean");
    let gradient: Float32Array | undefined;
    let loss = 0;
    for (const micro of microBatches(batch, sequences, this.#microBatchTokens)) {
      using results = await this.#session.run({
        ...this.#network.feeds,
        ids: idsFeed(batch, micro),
        ...targetFeeds(batch, micro, { weights }),
      });
      gradient = accumulate(gradient, results.float32("gradient"));
      loss += results.float32("loss")[0];
    }
    const tokens = trainedTokens(batch);
    if (gradient === undefined) return { loss, gradNorm: 0, tokens, applied: false };
    const { norm, applied } = await this.#network.step(gradient, lr);
    return { loss, gradNorm: norm, tokens, applied };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
  }
}
