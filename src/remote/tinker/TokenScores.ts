/**
 * Scores every trained token of a batch with a network on a Tinker server. Invariant: the server is asked once for the scores of a batch
 * under unchanged weights.
 */
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import { allFinite } from "../../model/graphs/finite.ts";
import { type Datum, datumOf } from "./wire/Data.ts";

/** The tokens [from, to) of a sequence in its batch. */
export interface SequenceRange {
  readonly from: number;
  readonly to: number;
}

/** The sequences of a mini-batch that have a trained token behind their first. */
export const trainedRanges = (batch: TokenBatch, mini: readonly number[]): readonly SequenceRange[] =>
  mini
    .map((sequence) => boundsOf(batch, sequence))
    .filter(([from, to]) => batch.mask.subarray(from + 1, to).some((m) => m !== 0))
    .map(([from, to]) => ({ from, to }));

export class TokenScores {
  readonly #fetch: (data: readonly Datum[]) => Promise<readonly Float32Array[]>;
  #cached: { readonly ids: Int32Array; readonly values: Float32Array } | undefined;

  /** @param fetch returns one number for each target of each datum */
  constructor(fetch: (data: readonly Datum[]) => Promise<readonly Float32Array[]>) {
    this.#fetch = fetch;
  }

  /**
   * Scores of the whole batch, 0 where no token is trained, [tokens]. A sequence with any score that is not finite has NaN for all of its
   * trained tokens.
   */
  async scoreAll(batch: TokenBatch): Promise<Float32Array> {
    const values = new Float32Array(batch.ids.length);
    await this.#forward(batch, trainedRanges(batch, allSequences(batch)), values);
    this.#cached = { ids: batch.ids, values };
    return values.slice();
  }

  /** Writes the scores of some sequences into an array of the whole batch. */
  async scoreInto(batch: TokenBatch, ranges: readonly SequenceRange[], values: Float32Array): Promise<void> {
    const cached = this.#cached?.ids === batch.ids ? this.#cached.values : undefined;
    if (cached === undefined) await this.#forward(batch, ranges, values);
    else for (const { from, to } of ranges) values.set(cached.subarray(from, to), from);
  }

  /** Drops the scores of a batch, since the weights change. */
  invalidate(): void {
    this.#cached = undefined;
  }

  async #forward(batch: TokenBatch, ranges: readonly SequenceRange[], target: Float32Array): Promise<void> {
    const scores = await this.#fetch(ranges.map(({ from, to }) => datumOf(batch.ids.subarray(from, to))));
    for (const [i, { from, to }] of ranges.entries()) {
      const values = scores[i] ?? new Float32Array(to - from - 1);
      const areFinite = allFinite(values);
      for (let t = from + 1; t < to; t++) {
        if (batch.mask[t] !== 0) target[t] = areFinite ? values[t - from - 1]! : Number.NaN;
      }
    }
  }
}
