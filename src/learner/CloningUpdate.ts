/**
 * Behaviour cloning of one network: it minimises the mean negative log-likelihood of a batch's masked tokens, one optimiser step per batch.
 * The batch's mask marks the targets.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, type TokenBatch, trainedTokens } from "../domain/Batch.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { tokenWeights } from "./batches.ts";
import { freeArrays, type Lanes, type Pass } from "./lanes/Lanes.ts";
import { scalarOf, splitIntoMicros } from "./microInputs.ts";
import { cloningModel, passOptions } from "./models.ts";
import type { Network } from "./Network.ts";
import type { NonFinitePart } from "./NonFinitePart.ts";
import { skippedStep } from "./optimiser/AdamW.ts";

export interface CloningReport {
  /** Loss before the step, nats per target token. */
  readonly loss: number;
  readonly gradNorm: number;
  readonly tokens: number;
  /** False when the network did not change, because a number was not finite or there was no target. */
  readonly applied: boolean;
  readonly notFinite: NonFinitePart | null;
}

export class CloningUpdate {
  readonly #network: Network;
  readonly #pass: Pass<"loss", never>;
  readonly #actor: RunConfig["actor"];

  private constructor(network: Network, pass: Pass<"loss", never>, actor: RunConfig["actor"]) {
    this.#network = network;
    this.#pass = pass;
    this.#actor = actor;
  }

  /** Trains `network` on `lanes`. The caller still owns and closes both. */
  static async open(
    config: DecoderConfig,
    network: Network,
    options: { readonly lanes: Lanes; readonly actor: RunConfig["actor"] },
  ): Promise<CloningUpdate> {
    // Cloned conversations belong to no group, so they share no prompts.
    const actor = { ...options.actor, use_prefix_grouper: false };
    const model = cloningModel(config, network.specs, passOptions(actor));
    const pass = await options.lanes.pass({
      model,
      trained: network.specs,
      sumsOnDevice: true,
      sums: ["loss"],
      rows: [],
    });
    return new CloningUpdate(network, pass, actor);
  }

  /** Returns nats per target token, or null for a batch without targets. Changes nothing. */
  async loss(batch: TokenBatch): Promise<number | null> {
    const totals = await this.#totals(batch);
    return totals === null ? null : scalarOf(totals.sums.loss);
  }

  async #totals(batch: TokenBatch) {
    const sequences = allSequences(batch);
    const weights = tokenWeights(batch, sequences, "token-mean");
    const { inputs: micros } = splitIntoMicros(batch, sequences, this.#actor, { weights });
    return (await this.#pass.run(this.#network, micros)).totals;
  }

  async step(batch: TokenBatch, lr: number): Promise<CloningReport> {
    const totals = await this.#totals(batch);
    const tokens = trainedTokens(batch);
    if (totals === null) return { loss: 0, gradNorm: 0, tokens, applied: false, notFinite: null };
    const loss = scalarOf(totals.sums.loss);
    const { norm, ...result } = Number.isFinite(loss)
      ? await this.#network.step(totals.gradients, lr)
      : skippedStep("loss");
    freeArrays(totals.gradients);
    return { loss, gradNorm: norm, tokens, ...result };
  }
}
