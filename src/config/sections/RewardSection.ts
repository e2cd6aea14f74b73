/** The section `reward`: the normalisation of rewards to scores. */
import { Schema } from "effect";
import { field } from "../field.ts";

export const RewardSection = Schema.Struct({
  use_turn_scores: field(Schema.Boolean, false, "Give each turn's reward to that turn's last token."),
  grouping: field(
    Schema.Literals(["state", "inductive", "batch"]),
    "state",
    "Set over which rewards are normalised: state, a group; inductive, a tag; batch, the window.",
  ),
  method: field(
    Schema.Literals(["identity", "mean", "mean_std", "asym_clip"]),
    "identity",
    "Normalisation of rewards to scores.",
  ),
});
