/**
 * Micro-batches in which a group's sequences share the text that they begin with. The shared text ends before the first trained token of
 * any of them. So every target is in a continuation, or directly after a prompt.
 */
import { boundsOf, type TokenBatch } from "../domain/Batch.ts";
import { type SharedPass, sharedPassesOf } from "../domain/Passes.ts";
import { type MicroTargets, targetsAt } from "./batches.ts";

type BatchText = Pick<TokenBatch, "groups" | "ids" | "mask" | "offsets">;

/** Sequences of a batch that begin with the same `prompt` ids. */
interface PromptFamily {
  readonly prompt: number;
  readonly sequences: readonly number[];
}

/** Counts the ids before a sequence's first target; all of them if it has none. */
const untrainedPrefixLength = ({ mask, offsets }: BatchText, sequence: number): number => {
  const [from, to] = boundsOf({ offsets }, sequence);
  const first = mask.subarray(from, to).indexOf(1, 1);
  return first === -1 ? to - from : first;
};

/** Counts the ids that two sequences have in common, up to `most`. */
const commonLength = ({ ids, offsets }: BatchText, a: number, b: number, most: number): number => {
  const [[from], [other]] = [boundsOf({ offsets }, a), boundsOf({ offsets }, b)];
  let count = 0;
  while (count < most && ids[from + count] === ids[other + count]) count++;
  return count;
};

/** Groups sequences into families by group and first id, in the order of their first members. */
const familiesOf = (batch: BatchText, sequences: readonly number[]): readonly PromptFamily[] => {
  const families = new Map<string, { prompt: number; readonly sequences: number[] }>();
  for (const sequence of sequences) {
    const key = `${batch.groups[sequence]} ${batch.ids[boundsOf(batch, sequence)[0]]}`;
    const family = families.get(key);
    const most = untrainedPrefixLength(batch, sequence);
    if (family === undefined) {
      families.set(key, { prompt: most, sequences: [sequence] });
      continue;
    }
    family.prompt = commonLength(batch, family.sequences[0]!, sequence, Math.min(family.prompt, most));
    family.sequences.push(sequence);
  }
  return [...families.values()];
};

export interface SharedMicroBatch {
  /** int64 [groups, prompt], padded with 0. */
  readonly prompts: BigInt64Array;
  /** int64 [groups] */
  readonly lengths: BigInt64Array;
  /** int64 [groups, members, time], padded with 0. */
  readonly ids: BigInt64Array;
  /** The id of each target, filled up with 0. */
  readonly tokens: BigInt64Array;
  readonly size: { readonly groups: number; readonly prompt: number; readonly members: number; readonly time: number };
  /** Positions count the rows of the prompts, then those of the continuations. */
  readonly targets: MicroTargets;
}

const microOf = (batch: BatchText, families: readonly PromptFamily[], pass: SharedPass): SharedMicroBatch => {
  const { groups, members, prompt, time } = pass;
  const prompts = new BigInt64Array(groups.length * prompt);
  const lengths = new BigInt64Array(groups.length);
  const ids = new BigInt64Array(groups.length * members * time);
  const copy = (into: BigInt64Array, at: number, from: number, to: number): void => {
    for (let t = from; t < to; t++) into[at + t - from] = BigInt(batch.ids[t]!);
  };
  const sequences: number[] = [];
  const places: ((index: number) => number)[] = [];
  for (const [group, passFamily] of groups.entries()) {
    const family = families[passFamily.family]!;
    const promptLength = family.prompt;
    lengths[group] = BigInt(promptLength);
    for (const [row, member] of passFamily.members.entries()) {
      const sequence = family.sequences[member]!;
      const [from, to] = boundsOf(batch, sequence);
      const at = (group * members + row) * time;
      if (row === 0) copy(prompts, group * prompt, from, from + promptLength);
      copy(ids, at, from + promptLength, to);
      sequences.push(sequence);
      places.push((index) =>
        index < promptLength ? group * prompt + index : prompts.length + at + index - promptLength,
      );
    }
  }
  const targets = targetsAt(batch, sequences, (row, index) => places[row]!(index));
  const tokens = new BigInt64Array(targets.before.length);
  targets.positions.forEach((position, target) => {
    tokens[target] = BigInt(batch.ids[position]!);
  });
  return { prompts, lengths, ids, tokens, targets, size: { groups: groups.length, prompt, members, time } };
};

/** Cuts `sequences` into micro-batches. The padded positions of each stay within `tokens` unless a single sequence exceeds it. */
export const sharedMicroBatches = (
  batch: BatchText,
  sequences: readonly number[],
  tokens: number,
): readonly SharedMicroBatch[] => {
  const families = familiesOf(
    batch,
    sequences.toSorted((a, b) => a - b),
  );
  const sizes = families.map(({ prompt, sequences: members }) => ({
    prompt,
    continuations: members.map((sequence) => {
      const [from, to] = boundsOf(batch, sequence);
      return to - from - prompt;
    }),
  }));
  return sharedPassesOf(sizes, tokens).map((pass) => microOf(batch, families, pass));
};
