/** The policy's update. */
import { Schema } from "effect";
import {
  between,
  coefficient,
  decay,
  episodes,
  epsilon,
  field,
  learningRate,
  signedCoefficient,
  stepsOrNone,
  tokens,
  whole,
} from "../field.ts";

export const ActorSection = Schema.Struct({
  lr: field(learningRate, 1e-6, "Learning rate of the policy."),
  lr_warmup_steps: field(stepsOrNone, 0, "Updates over which the policy's learning rate rises linearly from 0."),
  lr_decay: field(
    Schema.Literals(["constant", "linear", "cosine"]),
    "constant",
    "Schedule of the policy's learning rate after warm-up, over trainer.total_training_steps.",
  ),
  betas: field(Schema.Tuple([decay, decay]), [0.9, 0.999], "Decays of AdamW's two moments."),
  eps: field(epsilon, 1e-8, "Epsilon of AdamW."),
  weight_decay: field(between(0, 10), 0.01, "Decoupled weight decay of AdamW."),
  grad_clip: field(coefficient, 1, "Largest global norm of the policy's gradient; 0 does not clip."),
  policy_loss: field(
    Schema.Literals(["ppo", "gspo", "geo_mean", "cispo", "gpg", "custom"]),
    "ppo",
    "Policy loss: PPO's clipped surrogate, GSPO, GMPO (geo_mean), CISPO or GPG (docs/pipeline.md).",
  ),
  custom_loss: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "Path of a module whose default export is a policy loss; policy_loss=custom uses it (docs/algorithms.md).",
  ),
  clip_ratio_low: field(between(0, 1_000), 0.2, "The probability ratio is clipped below 1 minus this."),
  clip_ratio_high: field(between(0, 1_000), 0.28, "The probability ratio is clipped above 1 plus this."),
  clip_ratio_c: field(between(0, 1_000), 3, "Dual-clip bound of PPO's ratio for negative advantages; 0 does not clip."),
  entropy_coeff: field(signedCoefficient, 0.001, "Weight of the entropy bonus."),
  use_kl_loss: field(
    Schema.Boolean,
    false,
    "Penalise divergence from the reference policy, which is the starting weights by default.",
  ),
  ref_update_freq: field(
    stepsOrNone,
    0,
    "Replace the reference policy by the current policy every so many windows; 0 never.",
  ),
  kl_loss_coef: field(coefficient, 0, "Weight of the divergence penalty that use_kl_loss adds to the loss."),
  kl_loss_type: field(
    Schema.Literals(["k1", "abs", "k2", "k3", "k1+", "abs+", "k3+"]),
    "k3",
    "Estimator of the divergence in the loss (Schulman 2020); a + takes the gradient of k2.",
  ),
  loss_agg_mode: field(
    Schema.Literals(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]),
    "token-mean",
    "Aggregation of token losses to one number over the whole mini-batch.",
  ),
  ppo_epochs: field(whole(1, 1_000), 1, "Epochs of training on each window."),
  ppo_mini_batch_size: field(
    episodes,
    32,
    "Token sequences per optimiser step; with rollout.context=full each episode is one sequence.",
  ),
  micro_batch_tokens: field(tokens, 1024, "Padded tokens per forward and backward pass."),
  gradient_checkpointing: field(
    Schema.Union([Schema.Boolean, Schema.Literal("attention")]),
    false,
    "Recompute in the backward passes to save memory: true recomputes all but each layer's input, attention only the attention weights.",
  ),
  use_prefix_grouper: field(
    Schema.Boolean,
    false,
    "Compute the shared prefix of a group's sequences once in the passes of actor and critic.",
  ),
});
