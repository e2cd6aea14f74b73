/**
 * The critic's loss by itself, for a network that runs elsewhere: from the values that such a network gives a mini-batch to the loss and its gradient by
 * them. Invariant: the numbers are those of the local critic's own loss.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { CreditedBatch } from "../../domain/Batch.ts";
import { float32, Session } from "../../model/runtime/Session.ts";
import { type Aggregation, gatherTargets, scatterTargets, targetsAt, tokenWeights } from "../batches.ts";
import { scalarOf } from "../microInputs.ts";
import { valueLossModel } from "./lossModel.ts";

export interface GradientByValue {
  readonly loss: number;
  /** The loss's gradient by each trained id's value, 0 elsewhere, [tokens]. */
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

  /** Of the mini-batch's loss, where the network gives its ids the values `predicted` [tokens]; null where it has no target. */
  async compute(
    batch: CreditedBatch,
    mini: readonly number[],
    predicted: Float32Array,
  ): Promise<GradientByValue | null> {
    // There is no pass, and so no place in one.
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
