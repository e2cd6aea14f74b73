/**
 * Names of an episode's streams and of its sequence, as pure functions of (split, prompt, member, turn), so that any draw can be made
 * again. Validation streams are counted by instance seed: every validation of a run plays the same instances with the same
 * draws, whatever its group ids. Invariant: no two episodes of a run share a stream, train and validation included.
 */
import type { Prompt } from "../domain/Group.ts";
import type { StreamKey } from "../domain/Random.ts";
import { firstAnalysisNumber, isOfRefill } from "../domain/SeedSchedule.ts";
import type { Split } from "../env/contract/Environment.ts";

/** Counters are 32 bits; the upper half belongs to validation. */
const validationHalf = 2 ** 31;
/** More groups than are open at a time, of validation, of windows, of their refills or of an analysis. */
const openGroups = 2 ** 20;
/** Sequences of each of these four: more than the episodes of so many groups. */
const kindSequences = 2 ** 32;
/** All keys of sequences are below. */
export const endOfSequences = 4 * kindSequences;

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

const sequenceKind = (split: Split, { group }: Prompt): number => {
  if (split !== "train") return 1;
  if (!isOfRefill(group)) return 0;
  return group < firstAnalysisNumber ? 2 : 3;
};

/** Key of an episode's caches, one chat after the other: no other episode that is open at the time has it. */
export const sequenceId = (split: Split, prompt: Prompt, member: number): number =>
  sequenceKind(split, prompt) * kindSequences + (prompt.group % openGroups) * prompt.size + member;
