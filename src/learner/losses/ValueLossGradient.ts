/**
 * The critic's loss for a network that runs elsewhere: from values of a mini-batch's targets to the loss and its gradient by them.
 * Invariant: the numbers equal those of the local critic's loss.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { CreditedBatch } from "../../domain/Batch.ts";
import { float32, Session } from "../../model/runtime/Session.ts";
import { type Aggregation, gatherTargets, scatterTargets, targetsAt, tokenWeights } from "../batches.ts";
import { scalarOf } from "../microInputs.ts";
import { valueLossModel } from "./lossModel.ts";

export interface GradientByValue {
  readonly loss: number;
  /** Gradient of the loss by each trained id's value, [tokens], 0 elsewhere. */
  readonly byValue: Float32Array;
}

export class ValueLossGradient {
  readonly #session: Session;
  readonly #mode: Aggregation;

  private constructor(session: Session, mode: Aggregation) {
    this.#session = session;
    this.#mode = mode;
  }

  static async open(
    { cliprange_value }: Pick<RunConfig["critic"], "cliprange_value">,
    { loss_agg_mode }: Pick<RunConfig["actor"], "loss_agg_mode">,
  ): Promise<ValueLossGradient> {
    return new ValueLossGradient(await Session.open(valueLossModel(cliprange_value)), loss_agg_mode);
  }

  /** Computes the loss of a mini-batch from the network's values `predicted` [tokens]; null for one without targets. */
  async compute(
    batch: CreditedBatch,
    mini: readonly number[],
    predicted: Float32Array,
  ): Promise<GradientByValue | null> {
    // Only the loss runs here, so no target needs a row of a pass.
    const targetRows = targetsAt(batch, mini, () => 0);
    if (targetRows.positions.length === 0) return null;
    const weights = tokenWeights(batch, mini, this.#mode);
    const perTarget = { values: predicted, old: batch.values, returns: batch.returns, weights };
    const feeds = Object.entries(perTarget).map(
      ([name, values]) => [name, float32(gatherTargets(targetRows, values), [targetRows.before.length])] as const,
    );
    using outputs = await this.#session.run(Object.fromEntries(feeds));
    const byValue = new Float32Array(predicted.length);
    scatterTargets(targetRows, outputs.float32("dvalues"), byValue);
    return { loss: scalarOf(outputs.float32("loss")), byValue };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}
