/** The section `diagnostics`: measurements of the policy's thoughts. */
import { Schema } from "effect";
import { between, decay, epsilon, field, section, steps, whole } from "../field.ts";

/** Collapse measurement (RAGEN's `collapse_detection`). */
export const CollapseSection = Schema.Struct({
  first_turn_enabled: field(
    Schema.Boolean,
    false,
    "Measure how much first turns' thoughts depend on their prompts (docs/metrics.md).",
  ),
  multi_turn_enabled: field(
    Schema.Boolean,
    false,
    "Measure how much the thoughts of all turns depend on their prompts (docs/metrics.md).",
  ),
  compute_freq: field(steps, 5, "Measure collapse at the first step and every so many steps."),
  num_samples: field(
    whole(0, 65_536),
    64,
    "Thoughts drawn for a measurement of collapse; diagnostics.max_share may lower it; 0 takes all.",
  ),
  placement: field(
    Schema.Literals(["auto", "idle", "before_update"]),
    "auto",
    "When collapse is measured: idle, while the learner waits; before_update, which delays the update; auto, idle, or else before the next update.",
  ),
  std_eps: field(epsilon, 1e-3, "Number added to the standard deviation that z-scores divide by."),
  ema_decay: field(decay, 0.9, "Decay of the running means of collapse."),
});

export const DiagnosticsSection = Schema.Struct({
  max_share: field(between(0, 1_000), 0.1, "Work that measurements may add, as a share of the tokens of updates."),
  collapse: section(CollapseSection, "Template collapse: whether thoughts still depend on their prompts."),
});
