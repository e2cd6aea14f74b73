/** The critic's update. */
import { Schema } from "effect";
import { between, coefficient, decay, epsilon, field, learningRate, stepsOrNone, whole } from "../field.ts";

export const CriticSection = Schema.Struct({
  lr: field(learningRate, 1e-5, "Learning rate."),
  lr_warmup_steps: field(stepsOrNone, 0, "Updates of linear warm-up."),
  betas: field(Schema.Tuple([decay, decay]), [0.9, 0.999], "AdamW moment decays."),
  eps: field(epsilon, 1e-8, "AdamW epsilon."),
  weight_decay: field(between(0, 10), 0.01, "AdamW decoupled weight decay."),
  grad_clip: field(coefficient, 1, "Global gradient norm; 0 off."),
  cliprange_value: field(coefficient, 0.5, "Value clip."),
  warmup_windows: field(stepsOrNone, 0, "Windows that train only the critic."),
  layers: field(whole(0, 1_024), 0, "Layers of the critic, the policy's first ones; 0 all of them."),
});
