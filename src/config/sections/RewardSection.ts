/** How rewards become scores. */
import { Schema } from "effect";
import { field } from "../field.ts";

export const RewardSection = Schema.Struct({
  use_turn_scores: field(Schema.Boolean, false, "Place each turn's reward at its own last token."),
  grouping: field(Schema.Literals(["state", "inductive", "batch"]), "state", "Normalise by group, tag or batch."),
  method: field(Schema.Literals(["identity", "mean", "mean_std", "asym_clip"]), "identity", "Reward normalisation."),
});
