/** Episodes of evaluations, made up. */
import type { EvaluatedEpisode, EvaluatedTurn } from "../../../src/tools/evaluation/EvaluatedEpisode.ts";

export const turn = (changes: Partial<EvaluatedTurn> = {}): EvaluatedTurn => ({
  actions: ["Up"],
  executed: 1,
  reward: -0.1,
  penalty: 0,
  parsed: true,
  info: { action_is_effective: 1 },
  finish: "stop",
  promptTokens: 30,
  tokens: 6,
  entropy: null,
  sequence: 0,
  state: "a state",
  ...changes,
});

export const episode = (changes: Partial<EvaluatedEpisode> = {}): EvaluatedEpisode => ({
  group: 0,
  member: 0,
  tag: "FrozenLake",
  seed: 123,
  contentKey: "lake 1",
  outcome: { _tag: "Done", success: true },
  messages: [
    { role: "system", content: "Rules." },
    { role: "user", content: "State 1." },
    { role: "assistant", content: "<answer>Up</answer>" },
    { role: "user", content: "Reward:\n-0.1\nState 2." },
    { role: "assistant", content: "<answer>Up</answer>" },
  ],
  turns: [turn(), turn({ reward: 1 })],
  summaries: [],
  final: "the end",
  ...changes,
});
