/** Batches that benches train on: made-up ids, every sequence as long as the next. */
import type { CreditedBatch } from "../src/domain/Batch.ts";
import { stream } from "../src/domain/Random.ts";
import { batchWith } from "../test/build/batches.ts";

export interface BatchShape {
  readonly rows: number;
  /** Tokens of each. */
  readonly time: number;
  /** Last tokens of each that are trained on. */
  readonly trained: number;
  readonly vocabSize: number;
  /** Sequences of a group; default 4. */
  readonly group?: number;
  /** First tokens that the sequences of a group have in common; default 0. */
  readonly shared?: number;
}

/** The batch of a window: another one has other ids. */
export const batchOf = (shape: BatchShape, window: number): CreditedBatch => {
  const { group = 4, rows, shared = 0, time, trained, vocabSize } = shape;
  const random = stream({ seed: 1, purpose: "play", counters: [window] });
  const tokens = rows * time;
  const mask = Uint8Array.from({ length: tokens }, (_, t) => (t % time >= time - trained ? 1 : 0));
  const normal = () => Float32Array.from(mask, (m) => m * random.normal());
  const ids = Int32Array.from({ length: tokens }, () => random.int(vocabSize));
  for (let row = 0; row < rows; row++) {
    const first = (row - (row % group)) * time;
    ids.copyWithin(row * time, first, first + shared);
  }
  const batch = batchWith({
    window,
    ids,
    offsets: Int32Array.from({ length: rows + 1 }, (_, row) => row * time),
    mask,
    mu: Float32Array.from(mask, (m) => -m * Math.log(vocabSize)),
    groups: Int32Array.from({ length: rows }, (_, row) => Math.floor(row / group)),
    members: Int32Array.from({ length: rows }, (_, row) => row % group),
  });
  return { ...batch, advantages: normal(), values: normal(), returns: normal() };
};
