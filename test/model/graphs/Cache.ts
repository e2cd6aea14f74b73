/** A key and value cache as a caller of the decode models keeps it: [batch, kvHeads, capacity, headDim] per layer. */

import type { DecoderConfig } from "../../../src/model/graphs/Architecture.ts";
import { newKeys, newValues, pastKeys, pastValues } from "../../../src/model/graphs/Decode.ts";
import { type Feeds, float32, type Results } from "../tensor/session.ts";

export class Cache {
  readonly lengths: number[];
  readonly #config: DecoderConfig;
  readonly #capacity: number;
  readonly #layers: ReadonlyArray<{ readonly keys: Float32Array; readonly values: Float32Array }>;

  /** Positions beyond a row's length hold `rubbish`, to show that they are never read. */
  constructor(config: DecoderConfig, batch: number, capacity: number, rubbish = 7) {
    this.#config = config;
    this.#capacity = capacity;
    this.lengths = Array.from({ length: batch }, () => 0);
    const size = batch * config.kvHeads * capacity * config.headDim;
    this.#layers = Array.from({ length: config.layers }, () => ({
      keys: new Float32Array(size).fill(rubbish),
      values: new Float32Array(size).fill(-rubbish),
    }));
  }

  /** `axes` stand before the capacity, as a model has them. */
  feeds(axes: readonly number[] = []): Feeds {
    const dims = [this.lengths.length, this.#config.kvHeads, ...axes, this.#capacity, this.#config.headDim];
    return Object.fromEntries(
      this.#layers.flatMap(({ keys, values }, layer) => [
        [pastKeys(layer), float32(dims, keys)],
        [pastValues(layer), float32(dims, values)],
      ]),
    );
  }

  /** Writes the first `counts[row]` new positions of each row (of `time` in the results). */
  append(results: Results, time: number, counts: readonly number[]): void {
    const { kvHeads, headDim } = this.#config;
    this.#layers.forEach((cache, layer) => {
      for (const [target, source] of [
        [cache.keys, results[newKeys(layer)]!],
        [cache.values, results[newValues(layer)]!],
      ] as const)
        counts.forEach((count, row) => {
          for (let head = 0; head < kvHeads; head += 1) {
            const from = (row * kvHeads + head) * time * headDim;
            const to = ((row * kvHeads + head) * this.#capacity + this.lengths[row]!) * headDim;
            target.set(source.subarray(from, from + count * headDim), to);
          }
        });
    });
    counts.forEach((count, row) => {
      this.lengths[row]! += count;
    });
  }
}
