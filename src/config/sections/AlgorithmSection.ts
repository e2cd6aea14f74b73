/** Advantages, divergences in the reward and off-policy corrections. */
import { Schema } from "effect";
import { aboveZero, coefficient, field, fraction, section, whole } from "../field.ts";

export const KlControlSection = Schema.Struct({
  type: field(
    Schema.Literals(["fixed", "adaptive"]),
    "fixed",
    "Whether the coefficient follows the measured divergence.",
  ),
  kl_coef: field(coefficient, 0, "Coefficient of the divergence in the reward, or the one that adaptive starts with."),
  target_kl: field(aboveZero(1_000_000), 0.1, "adaptive: the divergence to hold, nats per token."),
  horizon: field(whole(1, 1_000_000_000), 10_000, "adaptive: sequences over which the coefficient moves by the error."),
});

export const AlgorithmSection = Schema.Struct({
  adv_estimator: field(
    Schema.Literals(["gae", "grpo", "brpo", "arpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline"]),
    "gae",
    "Advantage estimator; only gae has a critic. brpo compares with the whole batch, arpo takes the score as it is.",
  ),
  gamma: field(fraction, 1, "Discount per token."),
  lam: field(fraction, 1, "GAE lambda."),
  bi_level_gae: field(Schema.Boolean, false, "GAE first over the ends of turns, then within each turn."),
  high_level_gamma: field(fraction, 0.95, "Discount per turn of bi-level GAE."),
  norm_adv_by_std_in_grpo: field(
    Schema.Boolean,
    true,
    "GRPO divides by the group's standard deviation, and BRPO by the batch's (false: Dr.GRPO).",
  ),
  soft_advantage_reweight: field(
    Schema.Boolean,
    false,
    "GRPO: multiply advantages by the group's standard deviation over the largest of the batch.",
  ),
  grpo_advantage_length_weight: field(
    Schema.Boolean,
    false,
    "GRPO: divide advantages by the sequence's trained tokens over the batch's mean.",
  ),
  zero_task_advantage: field(
    Schema.Boolean,
    false,
    "Set all advantages to 0: an ablation, in which the entropy bonus and the divergence alone train the policy.",
  ),
  whiten: field(Schema.Boolean, true, "GAE advantages are whitened over the batch."),
  correction: field(
    Schema.Literals(["none", "decoupled", "loglinear", "tis", "icepop", "seq_tis", "seq_mask", "seq_reject", "vtrace"]),
    "none",
    "Off-policy correction: clipped PPO against mu, or against pi_prox with the weights of docs/algorithms.md.",
  ),
  correction_cap: field(coefficient, 2, "Cap of the importance ratio pi_prox / mu; 0 none."),
  correction_floor: field(coefficient, 0.5, "Least importance ratio that icepop, seq_mask and seq_reject keep."),
  correction_ratio: field(
    Schema.Literals(["product", "geometric"]),
    "product",
    "How token ratios become that of a sequence, or of V-trace's turn.",
  ),
  vtrace_rho_bar: field(aboveZero(1_000_000), 1, "V-trace: cap of the ratio that weighs a turn (rho)."),
  vtrace_c_bar: field(coefficient, 1, "V-trace: cap of the ratio that passes later turns' errors on (c)."),
  use_kl_in_reward: field(
    Schema.Boolean,
    false,
    "Take the divergence from the reference policy off the reward of each sampled token.",
  ),
  kl_penalty: field(Schema.Literals(["k1", "abs", "k2", "k3"]), "k1", "Estimator of that divergence (Schulman 2020)."),
  kl_ctrl: section(KlControlSection, "The coefficient of the divergence in the reward."),
});
