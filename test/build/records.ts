/** Records as sinks and readers get them: of steps, and of episodes with their turns. */
import { type EpisodeRecord, SCHEMA, type TurnRecord } from "../../src/domain/EpisodeRecord.ts";
import type { StepRecord } from "../../src/domain/Event.ts";
import { metricsOf } from "./metricsOf.ts";

/** The record of a step that ended three seconds after the one before it. */
export const stepRecord = (step: number, metrics: Readonly<Record<string, number>> = {}): StepRecord => ({
  step,
  time: 1_000_000 + step * 3000,
  metrics: metricsOf(metrics),
});

/** A turn whose reply is of these pieces, with numbers that differ from token to token. */
export const turnRecord = (pieces: readonly string[], changes: Partial<TurnRecord> = {}): TurnRecord => ({
  prompt_ids: [1, 2],
  ids: pieces.map((_, at) => at + 10),
  pieces,
  mu: pieces.map((_, at) => -at),
  entropies: pieces.map((_, at) => at / 2),
  versions: pieces.map(() => 3),
  finish: "stop",
  parsed: true,
  actions: ["Up"],
  executed: 1,
  reward: 0,
  penalty: 0,
  info: {},
  ...changes,
});

/** A lost training episode of one turn of Sokoban. */
export const episodeRecord = (changes: Partial<EpisodeRecord> = {}): EpisodeRecord => ({
  schema: SCHEMA,
  step: 4,
  split: "train",
  group: 12,
  member: 0,
  sequence: 0,
  tag: "SimpleSokoban",
  seed: 10_012,
  success: false,
  reward: 0,
  penalty: 0,
  outcome: { _tag: "Done", success: false },
  messages: [
    { role: "user", content: "######\n#PXO_#\n######" },
    { role: "assistant", content: "<think>push</think><answer>Right</answer>" },
  ],
  turns: [turnRecord(["push", "</think>", "<answer>", "Right", "</answer>"])],
  ...changes,
});
