/** Small token batches for the learner's tests: ids below a vocabulary, one prompt and replies in turns, all drawn from a seed. */
import { boundsOf, type CreditedBatch, type TokenBatch } from "../../src/domain/Batch.ts";
import { stream } from "../../src/domain/Random.ts";

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

export const tokenBatch = ({
  seed,
  lengths,
  vocabulary,
  window = 0,
  groupSize = 4,
  prompt = 0,
}: BatchShape): TokenBatch => {
  const random = stream({ seed, purpose: "play", counters: [] });
  const offsets = Int32Array.from([0, ...lengths.map((_, i) => lengths.slice(0, i + 1).reduce((a, b) => a + b, 0))]);
  const tokens = lengths.reduce((a, b) => a + b, 0);
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
  return {
    window,
    ids,
    offsets,
    mask,
    mu: Float32Array.from(mask, (m) => m * (-Math.log(vocabulary) + 0.3 * random.normal())),
    versions: Int32Array.from(mask, (m) => m - 1),
    rewards,
    placement: "sequence",
    groups: Int32Array.from(lengths, (_, i) => Math.floor(i / groupSize)),
    members: Int32Array.from(lengths, (_, i) => i % groupSize),
    sequenceIndex: new Int32Array(lengths.length),
    temperature: 1,
    keptRatio: 1,
  };
};

/** With advantages and returns drawn at random. */
export const creditedBatch = (shape: BatchShape): CreditedBatch => {
  const batch = tokenBatch(shape);
  const random = stream({ seed: shape.seed, purpose: "noise", counters: [] });
  const draw = () => Float32Array.from(batch.mask, (m) => m * random.normal());
  return { ...batch, advantages: draw(), values: draw(), returns: draw() };
};
