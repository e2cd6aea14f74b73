/**
 * Cuts a window for the optimiser into mini-batches (one optimiser step each) and micro-batches (one pass each), and weights its tokens.
 * Invariant: weights use the mini-batch's token and sequence counts, so any cut into micro-batches gives the same gradient.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { boundsOf, lengthOf, sequences, type TokenBatch } from "../domain/Batch.ts";
import { passesOf } from "../domain/Passes.ts";
import { stream } from "../domain/Random.ts";

export type Aggregation = RunConfig["actor"]["loss_agg_mode"];

/** Rows of one pass: sequence indices of the batch, padded at the end to `time` positions. */
export interface MicroBatch {
  readonly sequences: readonly number[];
  readonly time: number;
}

/**
 * Returns the sequence indices of each mini-batch. The order is drawn for (seed, window, epoch); it is cut into the fewest parts of at most
 * `size`, as equal as possible.
 */
export const miniBatches = (
  count: number,
  size: number,
  order: { readonly seed: number; readonly window: number; readonly epoch: number },
): readonly (readonly number[])[] => {
  const indices = Array.from({ length: count }, (_, i) => i);
  const parts = Math.ceil(count / size);
  if (parts <= 1) return count === 0 ? [] : [indices];
  const shuffled = stream({ seed: order.seed, purpose: "shuffle", counters: [order.window, order.epoch] }).shuffle(
    indices,
  );
  return Array.from({ length: parts }, (_, part) =>
    shuffled.slice(Math.floor((part * count) / parts), Math.floor(((part + 1) * count) / parts)),
  );
};

/** Returns the mini-batches of an update over all its epochs, in the order of the steps. */
export const updateBatches = (
  batch: Pick<TokenBatch, "offsets" | "window">,
  { actor, seed }: { readonly actor: RunConfig["actor"]; readonly seed: number },
): readonly (readonly number[])[] =>
  Array.from({ length: actor.ppo_epochs }, (_, epoch) =>
    miniBatches(sequences(batch), actor.ppo_mini_batch_size, { seed, window: batch.window, epoch }),
  ).flat();

/** Groups sequences of similar length. Rows times padded length stays within `tokens` unless a single row is longer. */
export const microBatches = (
  batch: Pick<TokenBatch, "offsets">,
  sequences: readonly number[],
  tokens: number,
): readonly MicroBatch[] => {
  const ordered = sequences.toSorted((a, b) => a - b);
  const lengths = ordered.map((sequence) => lengthOf(batch, sequence));
  return passesOf(lengths, tokens).map(({ rows, time }) => ({ sequences: rows.map((row) => ordered[row]!), time }));
};

const trainedIn = (batch: Pick<TokenBatch, "offsets" | "mask">, sequence: number): number =>
  batch.mask.subarray(...boundsOf(batch, sequence)).reduce((sum, m) => sum + m, 0);

/**
 * Returns a weight per token, [tokens of the whole batch], so that the loss of the mini-batch `sequences` is the weighted sum of token
 * losses. Tokens outside it and masked ones have 0. `seq-mean-token-sum-norm` divides the sum by the longest sequence.
 */
export const tokenWeights = (
  batch: Pick<TokenBatch, "offsets" | "mask">,
  sequences: readonly number[],
  mode: Aggregation,
): Float32Array => {
  const weights = new Float32Array(batch.mask.length);
  const counts = sequences.map((sequence) => trainedIn(batch, sequence));
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const trained = counts.filter((count) => count > 0).length;
  const longest = Math.max(0, ...sequences.map((sequence) => lengthOf(batch, sequence)));
  const share = {
    "token-mean": () => 1 / tokens,
    "seq-mean-token-mean": (count: number) => 1 / (trained * count),
    "seq-mean-token-sum": () => 1 / trained,
    "seq-mean-token-sum-norm": () => 1 / longest,
  }[mode];
  for (const [i, sequence] of sequences.entries()) {
    const count = counts[i] ?? 0;
    if (count === 0) continue;
    const weight = share(count);
    const [from, to] = boundsOf(batch, sequence);
    for (let t = from; t < to; t++) weights[t] = weight * batch.mask[t]!;
  }
  return weights;
};

/** Returns the ids of a micro-batch as [rows, time], padded with 0. */
export const paddedIds = (
  batch: Pick<TokenBatch, "offsets" | "ids">,
  { sequences, time }: MicroBatch,
): BigInt64Array => {
  const padded = new BigInt64Array(sequences.length * time);
  for (const [row, sequence] of sequences.entries()) {
    const [from, to] = boundsOf(batch, sequence);
    for (let t = from, at = row * time; t < to; t++, at++) padded[at] = BigInt(batch.ids[t]!);
  }
  return padded;
};

/** The tokens that a micro-batch predicts. */
export interface MicroTargets {
  /** Positions in the batch with mask 1, by sequence and in order. A sequence's first token has no token before it, so it is no target. */
  readonly positions: Int32Array;
  /** Row of the micro-batch's hidden states from which each target is predicted; padded with 0. */
  readonly before: BigInt64Array;
  /** Index of each target's sequence among those that have targets; padded with 0. */
  readonly sequences: BigInt64Array;
}

/** Target counts are padded to multiples of this, because the runtime's arena grows with each new shape. */
const TARGETS = 64;

/** Returns the targets of `sequences`. `positionOf` gives the micro-batch position of a sequence's token. */
export const targetsAt = (
  batch: Pick<TokenBatch, "offsets" | "mask">,
  sequences: readonly number[],
  positionOf: (row: number, index: number) => number,
): MicroTargets => {
  const positions: number[] = [];
  const before: bigint[] = [];
  const owners: bigint[] = [];
  let owner = 0n;
  for (const [row, sequence] of sequences.entries()) {
    const [from, to] = boundsOf(batch, sequence);
    const earlier = positions.length;
    for (let t = from + 1; t < to; t++) {
      if (batch.mask[t] === 0) continue;
      positions.push(t);
      before.push(BigInt(positionOf(row, t - from - 1)));
      owners.push(owner);
    }
    if (positions.length > earlier) owner++;
  }
  const count = Math.max(1, Math.ceil(before.length / TARGETS)) * TARGETS;
  const padded = (values: readonly bigint[]): BigInt64Array => {
    const filled = new BigInt64Array(count);
    filled.set(values);
    return filled;
  };
  return { positions: Int32Array.from(positions), before: padded(before), sequences: padded(owners) };
};

/** Returns the targets of whole sequences, whose positions are row x time + column. */
export const targetsOf = (batch: Pick<TokenBatch, "offsets" | "mask">, { sequences, time }: MicroBatch): MicroTargets =>
  targetsAt(batch, sequences, (row, index) => row * time + index);

/** Picks the values at the targets' positions, padded with 0. */
export const gatherTargets = ({ positions, before }: MicroTargets, values: Float32Array): Float32Array => {
  const padded = new Float32Array(before.length);
  positions.forEach((position, target) => {
    padded[target] = values[position]!;
  });
  return padded;
};

/** Writes one result per target back to its position. Positions without a target are left unchanged. */
export const scatterTargets = ({ positions }: MicroTargets, padded: Float32Array, into: Float32Array): void => {
  positions.forEach((position, target) => {
    into[position] = padded[target]!;
  });
};
