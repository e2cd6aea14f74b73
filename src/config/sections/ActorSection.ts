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
  lr: field(learningRate, 1e-6, "Learning rate."),
  lr_warmup_steps: field(stepsOrNone, 0, "Updates of linear warm-up."),
  lr_decay: field(
    Schema.Literals(["constant", "linear", "cosine"]),
    "constant",
    "Schedule after warm-up, over total_training_steps.",
  ),
  betas: field(Schema.Tuple([decay, decay]), [0.9, 0.999], "AdamW moment decays."),
  eps: field(epsilon, 1e-8, "AdamW epsilon."),
  weight_decay: field(between(0, 10), 0.01, "AdamW decoupled weight decay."),
  grad_clip: field(coefficient, 1, "Global gradient norm; 0 off."),
  policy_loss: field(
    Schema.Literals(["ppo", "gspo", "geo_mean", "cispo", "gpg"]),
    "ppo",
    "Policy loss: PPO's clipped surrogate, GSPO, GMPO (geo_mean), CISPO or GPG (docs/pipeline.md).",
  ),
  clip_ratio_low: field(between(0, 1_000), 0.2, "PPO lower clip."),
  clip_ratio_high: field(between(0, 1_000), 0.28, "PPO upper clip."),
  clip_ratio_c: field(between(0, 1_000), 3, "Dual clip for negative advantages; 0 off."),
  entropy_coeff: field(signedCoefficient, 0.001, "Weight of the entropy bonus."),
  use_kl_loss: field(Schema.Boolean, false, "Penalise divergence from the reference policy (the starting weights)."),
  ref_update_freq: field(
    stepsOrNone,
    0,
    "Windows after which the reference policy becomes the policy as it is then, again and again; 0 never.",
  ),
  kl_loss_coef: field(coefficient, 0, "Weight of that penalty."),
  kl_loss_type: field(
    Schema.Literals(["k1", "abs", "k2", "k3", "k1+", "abs+", "k3+"]),
    "k3",
    "Estimator of the divergence (Schulman 2020); with a +, its gradient is that of k2.",
  ),
  loss_agg_mode: field(
    Schema.Literals(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]),
    "token-mean",
    "How token losses become one number, over the whole mini-batch.",
  ),
  ppo_epochs: field(whole(1, 1_000), 1, "Passes over a window."),
  ppo_mini_batch_size: field(episodes, 32, "Token sequences per optimiser step; with the full context, episodes."),
  micro_batch_tokens: field(tokens, 1024, "Padded tokens per forward and backward pass."),
  gradient_checkpointing: field(
    Schema.Union([Schema.Boolean, Schema.Literal("attention")]),
    false,
    "What the backward pass of actor and critic computes again, less memory for more time: true, all but each layer's input; attention, its weights alone.",
  ),
  use_prefix_grouper: field(
    Schema.Boolean,
    false,
    "Compute the text that the sequences of a group begin with once for all of them, in passes of actor and critic.",
  ),
});
