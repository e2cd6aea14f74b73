/**
 * Names of an episode's streams and of its sequence, as pure functions of (split, prompt, member, turn), so that any draw can be made
 * again. Validation streams are counted by instance seed: every validation of a run plays the same instances with the same
 * draws, whatever its group ids. Invariant: no two episodes of a run share a stream, train and validation included.
 */
import type { Prompt } from "../domain/Group.ts";
import type { StreamKey } from "../domain/Random.ts";
import type { Split } from "../env/contract/Environment.ts";

/** Counters are 32 bits; the upper half belongs to validation. */
const validationHalf = 2 ** 31;
const validationSequences = 2 ** 30;

const streamCounter = (split: Split, prompt: Prompt): number =>
  split === "train" ? prompt.group % validationHalf : validationHalf + (prompt.seed % validationHalf);

/** Stream of the instance of `seed`, shared by a group. */
export const instanceKey = (seed: number): StreamKey => ({ seed, purpose: "instance", counters: [] });

export const samplingKey = (
  runSeed: number,
  split: Split,
  prompt: Prompt,
  member: number,
  turn: number,
): StreamKey => ({ seed: runSeed, purpose: "sampling", counters: [streamCounter(split, prompt), member, turn] });

/** The training group whose replies a stream samples; undefined of a validation's stream. */
export const trainingGroup = ({ counters: [counter] }: StreamKey): number | undefined =>
  counter === undefined || counter >= validationHalf ? undefined : counter;

/** Stream of the summary of an episode's first `turns` turns. */
export const summaryKey = (
  runSeed: number,
  split: Split,
  prompt: Prompt,
  member: number,
  turns: number,
): StreamKey => ({ seed: runSeed, purpose: "summary", counters: [streamCounter(split, prompt), member, turns] });

/** Stream of the transitions of one turn. */
export const noiseKey = (runSeed: number, split: Split, prompt: Prompt, member: number, turn: number): StreamKey => ({
  seed: runSeed,
  purpose: "noise",
  counters: [streamCounter(split, prompt), member, turn],
});

/** Key of an episode's caches, one chat after the other. Dense within a split, so that any modulus spreads them evenly. */
export const sequenceId = (split: Split, prompt: Prompt, member: number): number =>
  (split === "train" ? 0 : validationSequences) + prompt.group * prompt.size + member;
