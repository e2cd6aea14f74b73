/** What is measured of the policy's thoughts. */
import { Schema } from "effect";
import { between, decay, epsilon, field, section, steps, whole } from "../field.ts";

/** Collapse measurement (RAGEN's `collapse_detection`). */
export const CollapseSection = Schema.Struct({
  first_turn_enabled: field(
    Schema.Boolean,
    false,
    "Measure whether the thoughts of first turns tell of their prompts (docs/metrics.md).",
  ),
  multi_turn_enabled: field(Schema.Boolean, false, "The same of any turns of the episodes."),
  compute_freq: field(steps, 5, "Measure at the first step, and every so many."),
  num_samples: field(whole(0, 65_536), 64, "Thoughts drawn for it, less where max_share says so; 0 all."),
  placement: field(
    Schema.Literals(["auto", "idle", "before_update"]),
    "auto",
    "In the learner's idle time after the window's update; before the update, which waits; auto: idle, and before the next update where there was no idle time.",
  ),
  std_eps: field(epsilon, 1e-3, "Added to the deviation that z-scores divide by."),
  ema_decay: field(decay, 0.9, "Decay of the running means."),
});

export const DiagnosticsSection = Schema.Struct({
  max_share: field(between(0, 1_000), 0.1, "Share of the updates' work that measurements may add, counted in tokens."),
  collapse: section(CollapseSection, "Template collapse: what thoughts tell of their prompts."),
});
