/** A recorded episode of two tokens. */
import { type EpisodeRecord, SCHEMA, type TurnRecord } from "../../../../src/domain/EpisodeRecord.ts";

export const turn: TurnRecord = {
  prompt_ids: [1, 2],
  ids: [3, 4],
  pieces: ["Up", "!"],
  mu: [-0.1, -0.2],
  entropies: [0.3, 0.4],
  versions: [0, 1],
  advantages: [0.5, -1.5],
  finish: "stop",
  parsed: true,
  actions: ["Up"],
  executed: 1,
  reward: 1,
  penalty: 0,
  info: {},
};

export const episodeRecord = (over: Partial<EpisodeRecord> = {}): EpisodeRecord => ({
  schema: SCHEMA,
  step: 1,
  split: "train",
  group: 7,
  member: 0,
  sequence: 0,
  tag: "SimpleSokoban",
  seed: 3,
  success: true,
  reward: 1,
  penalty: 0,
  outcome: { _tag: "Done", success: true },
  verdict: "kept",
  score: 0.25,
  messages: [
    { role: "user", content: "#P_O" },
    { role: "assistant", content: "<answer>Up</answer>" },
  ],
  turns: [turn],
  ...over,
});
