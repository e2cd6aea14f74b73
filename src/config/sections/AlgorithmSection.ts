/** Advantages, divergences in the reward and off-policy corrections. */
import { Schema } from "effect";
import { aboveZero, coefficient, field, fraction, section, whole } from "../field.ts";

export const KlControlSection = Schema.Struct({
  type: field(
    Schema.Literals(["fixed", "adaptive"]),
    "fixed",
    "fixed keeps the coefficient; adaptive moves it towards target_kl.",
  ),
  kl_coef: field(coefficient, 0, "Coefficient of the divergence in the reward; adaptive starts with it."),
  target_kl: field(aboveZero(1_000_000), 0.1, "Divergence that the adaptive coefficient aims at, in nats per token."),
  horizon: field(
    whole(1, 1_000_000_000),
    10_000,
    "Sequences over which the adaptive coefficient moves by the full relative error.",
  ),
});

export const AlgorithmSection = Schema.Struct({
  adv_estimator: field(
    Schema.Literals([
      "gae",
      "grpo",
      "brpo",
      "arpo",
      "rloo",
      "reinforce_plus_plus",
      "reinforce_plus_plus_baseline",
      "custom",
    ]),
    "gae",
    "Advantage estimator. Only gae has a critic; brpo compares with the whole batch; arpo takes the raw score.",
  ),
  custom_estimator: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "Path of a module whose default export estimates advantages; adv_estimator=custom uses it (docs/algorithms.md).",
  ),
  gamma: field(fraction, 1, "Discount per token."),
  lam: field(fraction, 1, "Lambda of GAE."),
  bi_level_gae: field(Schema.Boolean, false, "Run GAE first over the ends of turns, then within each turn."),
  high_level_gamma: field(fraction, 0.95, "Discount per turn of bi-level GAE and V-trace."),
  norm_adv_by_std_in_grpo: field(
    Schema.Boolean,
    true,
    "Divide advantages by the standard deviation of the group (GRPO) or the batch (BRPO); false is Dr.GRPO.",
  ),
  soft_advantage_reweight: field(
    Schema.Boolean,
    false,
    "Multiply GRPO's advantages by the group's standard deviation over the largest of the batch.",
  ),
  grpo_advantage_length_weight: field(
    Schema.Boolean,
    false,
    "Divide GRPO's advantages by the sequence's trained tokens over the batch's mean.",
  ),
  zero_task_advantage: field(
    Schema.Boolean,
    false,
    "Set all advantages to 0, an ablation: only the entropy bonus and the divergence train the policy.",
  ),
  whiten: field(Schema.Boolean, true, "Whiten GAE's advantages over the batch."),
  correction: field(
    Schema.Literals(["none", "decoupled", "loglinear", "tis", "icepop", "seq_tis", "seq_mask", "seq_reject", "vtrace"]),
    "none",
    "Off-policy correction: none clips PPO against mu, the others against pi_prox with weights (docs/algorithms.md).",
  ),
  correction_cap: field(coefficient, 2, "Cap of the importance ratio pi_prox / mu; 0 does not cap."),
  correction_floor: field(coefficient, 0.5, "Least importance ratio that icepop, seq_mask and seq_reject keep."),
  correction_ratio: field(
    Schema.Literals(["product", "geometric"]),
    "product",
    "Combination of token ratios to the ratio of a sequence, or of a turn in V-trace.",
  ),
  vtrace_rho_bar: field(aboveZero(1_000_000), 1, "Cap of the ratio that weighs a turn in V-trace (rho)."),
  vtrace_c_bar: field(coefficient, 1, "Cap of the ratio that carries later turns' errors back in V-trace (c)."),
  use_kl_in_reward: field(
    Schema.Boolean,
    false,
    "Subtract the divergence from the reference policy from each sampled token's reward.",
  ),
  kl_penalty: field(
    Schema.Literals(["k1", "abs", "k2", "k3"]),
    "k1",
    "Estimator of the divergence in the reward (Schulman 2020).",
  ),
  kl_ctrl: section(KlControlSection, "The coefficient of the divergence in the reward."),
});
