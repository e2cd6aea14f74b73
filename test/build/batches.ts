/** Token batches: with the fields that a test names, or drawn from a seed. */
import { boundsOf, type CreditedBatch, type TokenBatch } from "../../src/domain/Batch.ts";
import { stream } from "../../src/domain/Random.ts";

/** A batch whose other fields are plain: no rewards, ids and logs of 0, version 0 where trained, episodes of one sequence in one group. */
export const batchWith = ({
  mask,
  offsets,
  ...given
}: Pick<TokenBatch, "mask" | "offsets"> & Partial<TokenBatch>): TokenBatch => ({
  window: 0,
  ids: new Int32Array(mask.length),
  offsets,
  mask,
  mu: new Float32Array(mask.length),
  versions: Int32Array.from(mask, (trained) => trained - 1),
  rewards: new Float32Array(mask.length),
  placement: "sequence",
  groups: new Int32Array(offsets.length - 1),
  members: Int32Array.from({ length: offsets.length - 1 }, (_, sequence) => sequence),
  sequenceIndex: new Int32Array(offsets.length - 1),
  temperature: 1,
  keptRatio: 1,
  ...given,
});

/** Bounds of sequences of these lengths, end to end. */
export const offsetsOf = (lengths: readonly number[]): Int32Array => {
  const offsets = new Int32Array(lengths.length + 1);
  for (const [sequence, length] of lengths.entries()) offsets[sequence + 1] = offsets[sequence]! + length;
  return offsets;
};

export interface BatchShape {
  readonly seed: number;
  /** Length of each sequence. */
  readonly lengths: readonly number[];
  readonly vocabulary: number;
  readonly window?: number;
  readonly groupSize?: number;
  /** Ids that the sequences of a group begin with alike, and none of which is trained on; default 0. */
  readonly prompt?: number;
}

/** Ids below a vocabulary: one prompt and replies in turns. */
export const tokenBatch = ({
  seed,
  lengths,
  vocabulary,
  window = 0,
  groupSize = 4,
  prompt = 0,
}: BatchShape): TokenBatch => {
  const random = stream({ seed, purpose: "play", counters: [] });
  const offsets = offsetsOf(lengths);
  const tokens = offsets.at(-1)!;
  const mask = new Uint8Array(tokens);
  const rewards = new Float32Array(tokens);
  for (const sequence of lengths.keys()) {
    const [from, to] = boundsOf({ offsets }, sequence);
    for (let t = Math.max(2, prompt); t < to - from; t++) mask[from + t] = t % 5 === 0 ? 0 : 1;
    mask[to - 1] = 1;
    rewards[to - 1] = random.int(2);
  }
  const ids = Int32Array.from({ length: tokens }, () => random.int(vocabulary));
  for (const sequence of lengths.keys()) {
    const [first] = boundsOf({ offsets }, sequence - (sequence % groupSize));
    ids.copyWithin(boundsOf({ offsets }, sequence)[0], first, first + prompt);
  }
  const mu = Float32Array.from(mask, (m) => m * (-Math.log(vocabulary) + 0.3 * random.normal()));
  const groups = Int32Array.from(lengths, (_, i) => Math.floor(i / groupSize));
  const members = Int32Array.from(lengths, (_, i) => i % groupSize);
  return batchWith({ window, ids, offsets, mask, mu, rewards, groups, members });
};

/** The same with advantages, values and returns drawn at random. */
export const creditedBatch = (shape: BatchShape): CreditedBatch => {
  const batch = tokenBatch(shape);
  const random = stream({ seed: shape.seed, purpose: "noise", counters: [] });
  const draw = () => Float32Array.from(batch.mask, (m) => m * random.normal());
  return { ...batch, advantages: draw(), values: draw(), returns: draw() };
};
