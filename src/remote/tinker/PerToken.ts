/**
 * What a network on a Tinker server says of every trained token of a batch. Invariant: the server is asked once for what weights that have not moved say
 * of a batch.
 */
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import { allFinite } from "../../model/graphs/finite.ts";
import { type Datum, datumOf } from "./wire/Data.ts";

/** A sequence that has a target, and where it lies in the batch. */
export interface Placed {
  readonly from: number;
  readonly to: number;
}

/** The sequences of a mini-batch that have a trained id with something before it. */
export const placed = (batch: TokenBatch, mini: readonly number[]): readonly Placed[] =>
  mini
    .map((sequence) => boundsOf(batch, sequence))
    .filter(([from, to]) => batch.mask.subarray(from + 1, to).some((m) => m !== 0))
    .map(([from, to]) => ({ from, to }));

export class PerToken {
  readonly #ask: (data: readonly Datum[]) => Promise<readonly Float32Array[]>;
  #known: { readonly ids: Int32Array; readonly values: Float32Array } | undefined;

  /** @param ask one number for each target of each datum */
  constructor(ask: (data: readonly Datum[]) => Promise<readonly Float32Array[]>) {
    this.#ask = ask;
  }

  /** Of the whole batch, 0 where nothing is trained, [tokens]. A sequence of which any is not finite has none. */
  async of(batch: TokenBatch): Promise<Float32Array> {
    const values = new Float32Array(batch.ids.length);
    await this.#forward(batch, placed(batch, allSequences(batch)), values);
    this.#known = { ids: batch.ids, values };
    return values.slice();
  }

  /** Of the sequences at `places`, into an array of the whole batch. */
  async into(batch: TokenBatch, places: readonly Placed[], values: Float32Array): Promise<void> {
    const known = this.#known?.ids === batch.ids ? this.#known.values : undefined;
    if (known === undefined) await this.#forward(batch, places, values);
    else for (const { from, to } of places) values.set(known.subarray(from, to), from);
  }

  /** The weights move. */
  forget(): void {
    this.#known = undefined;
  }

  async #forward(batch: TokenBatch, places: readonly Placed[], into: Float32Array): Promise<void> {
    const found = await this.#ask(places.map(({ from, to }) => datumOf(batch.ids.subarray(from, to))));
    for (const [i, { from, to }] of places.entries()) {
      const values = found[i] ?? new Float32Array(to - from - 1);
      const whole = allFinite(values);
      for (let t = from + 1; t < to; t++) {
        if (batch.mask[t] !== 0) into[t] = whole ? values[t - from - 1]! : Number.NaN;
      }
    }
  }
}
