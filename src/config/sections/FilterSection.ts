/** Which groups of a window are trained on. */
import { Schema } from "effect";
import { coefficient, field, fraction, section, whole } from "../field.ts";

export const RefillSection = Schema.Struct({
  target: field(
    whole(0, 65_536),
    0,
    "Groups that a window trains on: of which fewer are kept, it asks for more, and a surplus leaves it; 0 off.",
  ),
  rounds: field(whole(1, 1_000), 3, "Most times that a window asks; then it trains on what is there."),
  batch: field(whole(0, 65_536), 0, "Groups that it asks for at a time; 0 as many as it misses."),
});

export const FilterSection = Schema.Struct({
  metric: field(
    Schema.Literals(["reward_variance", "reward", "reward_sum", "entropy", "entropy_variance", "length"]),
    "reward_variance",
    "Score of a group.",
  ),
  strategy: field(
    Schema.Literals(["top_p", "top_k", "top_k_abs", "min_p", "percentile_range", "within_group"]),
    "top_p",
    "Selection rule.",
  ),
  value: field(coefficient, 1, "Parameter of the rule."),
  type: field(Schema.Literals(["largest", "smallest"]), "largest", "Which end of the ranking is kept."),
  top_p_mode: field(Schema.Literals(["linear", "softmax"]), "linear", "How top_p accumulates mass."),
  include_zero: field(Schema.Boolean, true, "Keep groups whose score is zero."),
  selection_eps: field(coefficient, 0.01, "Slack of the linear rule's threshold, in units of the score."),
  percentile_low: field(fraction, 0, "percentile_range: keep groups from this share of the ranking on."),
  percentile_high: field(fraction, 1, "percentile_range: and up to this one."),
  loss_scaling: field(Schema.Literals(["none", "linear", "sqrt"]), "none", "Scale advantages by the kept share."),
  refill: section(RefillSection, "More groups for a window of which too few were kept."),
});
