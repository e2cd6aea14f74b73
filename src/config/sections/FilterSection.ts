/** The section `filter`: the choice of the groups that a window trains on. */
import { Schema } from "effect";
import { coefficient, field, fraction, section, whole } from "../field.ts";

export const RefillSection = Schema.Struct({
  target: field(
    whole(0, 65_536),
    0,
    "Groups that a window trains on: if the filter keeps fewer, more are played, and a surplus is dropped; 0 off.",
  ),
  rounds: field(whole(1, 1_000), 3, "Most refills of a window; after them it trains on the groups it has."),
  batch: field(whole(0, 65_536), 0, "Groups per refill; 0 as many as the window still lacks."),
});

export const FilterSection = Schema.Struct({
  metric: field(
    Schema.Literals(["reward_variance", "reward", "reward_sum", "entropy", "entropy_variance", "length"]),
    "reward_variance",
    "Score that the filter ranks groups by.",
  ),
  strategy: field(
    Schema.Literals(["top_p", "top_k", "top_k_abs", "min_p", "percentile_range", "within_group"]),
    "top_p",
    "Rule that keeps groups by their scores (docs/pipeline.md).",
  ),
  value: field(coefficient, 1, "Parameter of filter.strategy, e.g. the share or the number of groups to keep."),
  type: field(Schema.Literals(["largest", "smallest"]), "largest", "End of the ranking that is kept."),
  top_p_mode: field(
    Schema.Literals(["linear", "softmax"]),
    "linear",
    "Mass that top_p accumulates: the scores themselves, or their softmax.",
  ),
  include_zero: field(Schema.Boolean, true, "Let groups with score 0 be kept."),
  selection_eps: field(coefficient, 0.01, "Slack of the threshold of top_p_mode=linear, in units of the score."),
  percentile_low: field(fraction, 0, "Share of the ranking at which percentile_range begins to keep groups."),
  percentile_high: field(fraction, 1, "Share of the ranking at which percentile_range stops keeping groups."),
  loss_scaling: field(
    Schema.Literals(["none", "linear", "sqrt"]),
    "none",
    "Scale advantages by the share of groups kept, or by its square root.",
  ),
  refill: section(RefillSection, "Refill: further groups for a window of which the filter kept too few."),
});
