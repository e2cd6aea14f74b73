/** The critic's update. */
import { Schema } from "effect";
import { between, coefficient, decay, epsilon, field, learningRate, stepsOrNone, whole } from "../field.ts";

export const CriticSection = Schema.Struct({
  lr: field(learningRate, 1e-5, "Learning rate of the critic."),
  lr_warmup_steps: field(stepsOrNone, 0, "Updates over which the critic's learning rate rises linearly from 0."),
  betas: field(Schema.Tuple([decay, decay]), [0.9, 0.999], "Decays of AdamW's two moments."),
  eps: field(epsilon, 1e-8, "Epsilon of AdamW."),
  weight_decay: field(between(0, 10), 0.01, "Decoupled weight decay of AdamW."),
  grad_clip: field(coefficient, 1, "Largest global norm of the critic's gradient; 0 does not clip."),
  cliprange_value: field(coefficient, 0.5, "Largest change of a value per update that the value loss counts."),
  warmup_windows: field(stepsOrNone, 0, "First windows of a run, which train the critic alone."),
  layers: field(whole(0, 1_024), 0, "Number of the policy's first layers that the critic has; 0 all."),
});
