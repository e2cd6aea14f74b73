/** Episode records for tests of what the page makes of them. */
import { type EpisodeRecord, SCHEMA, type TurnRecord } from "../../../../../src/domain/EpisodeRecord.ts";

export const turnOf = (pieces: readonly string[], change: Partial<TurnRecord> = {}): TurnRecord => ({
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
  ...change,
});

export const recordOf = (change: Partial<EpisodeRecord> = {}): EpisodeRecord => ({
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
  turns: [turnOf(["push", "</think>", "<answer>", "Right", "</answer>"])],
  ...change,
});
