/** How an episode is played: prompts, turns and lengths. */
import { Schema } from "effect";
import { field, tokens, whole } from "../field.ts";

export const RolloutSection = Schema.Struct({
  template: field(
    Schema.Literals(["ragen", "compact"]),
    "ragen",
    "Prompt texts: RAGEN's, or short ones for small models.",
  ),
  enable_think: field(Schema.Boolean, true, "Replies carry <think>…</think> before <answer>…</answer>."),
  max_turn: field(whole(1, 10_000), 5, "Turns per episode."),
  max_actions_per_turn: field(whole(1, 10_000), 2, "Actions taken of one reply."),
  action_sep: field(Schema.NonEmptyString, "||", "Separates the actions of one reply."),
  context: field(
    Schema.Literals(["full", "limited_multi_turn", "single_turn"]),
    "full",
    "What a turn's prompt shows: the whole chat, a chat of the last turns, or one message that retells them (docs/rollout.md).",
  ),
  max_context_window: field(
    whole(-1, 10_000),
    -1,
    "Turns that such a prompt shows, its own included: -1 all of them, 1 no history. The full context shows all.",
  ),
  overflow: field(
    Schema.Literals(["end", "drop"]),
    "end",
    "What a history does that outgrows max_model_len: end the episode, or drop the oldest turns.",
  ),
  summary: field(
    Schema.Literals(["none", "facts", "policy"]),
    "none",
    "What stands for the turns out of sight: nothing, a list of facts, or a summary that the policy writes.",
  ),
  summary_length: field(tokens, 100, "Tokens allowed in a summary that the policy writes."),
  train_summary: field(
    Schema.Boolean,
    false,
    "Train on the summaries that the policy writes, each with its episode's reward.",
  ),
  max_model_len: field(tokens, 3600, "Context, response tokens included."),
  response_length: field(tokens, 400, "Tokens reserved for, and allowed in, one reply."),
  enable_response_mask: field(
    Schema.Boolean,
    true,
    "Train on sampled tokens only; false: also on what the environment shows after the system message (world modelling).",
  ),
});
