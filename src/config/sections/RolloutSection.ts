/** The section `rollout`: the prompts, turns and lengths of episodes. */
import { Schema } from "effect";
import { field, tokens, whole } from "../field.ts";

export const RolloutSection = Schema.Struct({
  template: field(
    Schema.Literals(["ragen", "compact"]),
    "ragen",
    "Prompt texts: ragen, RAGEN's; compact, short ones for small models.",
  ),
  enable_think: field(Schema.Boolean, true, "Ask for <think>…</think> before <answer>…</answer> in every reply."),
  max_turn: field(whole(1, 10_000), 5, "Most turns per episode."),
  max_actions_per_turn: field(whole(1, 10_000), 2, "Most actions executed from one reply."),
  action_sep: field(Schema.NonEmptyString, "||", "Separator between the actions of one reply."),
  context: field(
    Schema.Literals(["full", "limited_multi_turn", "single_turn"]),
    "full",
    "Context of a turn: the whole chat, a chat of the last turns, or one message that retells them (docs/rollout.md).",
  ),
  max_context_window: field(
    whole(-1, 10_000),
    -1,
    "Turns in the prompt of a limited context, the current one included; -1 all, 1 no history. rollout.context=full shows all.",
  ),
  overflow: field(
    Schema.Literals(["end", "drop"]),
    "end",
    "If the history outgrows max_model_len, end the episode or drop the oldest turns.",
  ),
  summary: field(
    Schema.Literals(["none", "facts", "policy"]),
    "none",
    "Replacement of turns outside the context: none, a list of facts, or a summary that the policy writes.",
  ),
  summary_length: field(tokens, 100, "Most tokens of a summary that the policy writes."),
  train_summary: field(Schema.Boolean, false, "Train on the policy's summaries, each with its episode's reward."),
  max_model_len: field(tokens, 3600, "Most tokens of a sequence, its replies included."),
  response_length: field(tokens, 400, "Most tokens of one reply; prompts leave that much room."),
  enable_response_mask: field(
    Schema.Boolean,
    true,
    "Train on sampled tokens only; false also trains on the environment's text (world modelling).",
  ),
});
