/**
 * Metrics of an update: what the learner says of the batch it was given, of the two networks it trains and of its time. Names are RAGEN's
 * where the meaning is the same. An update without a trained token, or without an optimiser step that was applied, lacks what it could
 * not measure.
 */
import { family, metric } from "./Metric.ts";

const policy = {
  pgLoss: metric(
    "actor/pg_loss",
    "mean",
    "1",
    "Policy loss without entropy and divergence, over the optimiser steps that were applied.",
  ),
  entropy: metric(
    "actor/entropy",
    "mean",
    "nats",
    "Entropy of the policy per trained token, in the loss's aggregation.",
  ),
  entropyLoss: metric(
    "actor/entropy_loss",
    "mean",
    "nats",
    "The same as actor/entropy, under RAGEN's other name for it.",
  ),
  klLoss: metric("actor/kl_loss", "mean", "nats", "Divergence from the reference policy, before its coefficient."),
  klCoefficient: metric("actor/kl_coef", "level", "1", "Coefficient of the divergence from the reference policy."),
  rewardKlPenalty: metric(
    "actor/reward_kl_penalty",
    "mean",
    "nats",
    "Divergence of the sampled tokens from the reference policy, as it is taken off the reward: mean over sequences of their means.",
  ),
  rewardKlCoefficient: metric(
    "actor/reward_kl_penalty_coeff",
    "level",
    "1",
    "Coefficient of the divergence in the reward of this update.",
  ),
  gradNorm: metric("actor/grad_norm", "mean", "1", "Global norm of the policy's gradient before clipping."),
  lr: metric("actor/lr", "level", "1", "Learning rate of the policy in this update."),
  skipped: metric(
    "actor/skipped_not_finite",
    "counter",
    "1",
    "Optimiser steps of the policy that were skipped: a number of the loss, the gradient or the result was not finite.",
  ),
  miniBatches: metric("train/num_mini_batches", "counter", "1", "Mini-batches of the policy, over all epochs."),
  clipFraction: metric(
    "actor/pg_clipfrac",
    "share",
    "share",
    "Trained tokens whose surrogate the ratio clip holds back.",
  ),
  clipFractionLower: metric(
    "actor/pg_clipfrac_lower",
    "share",
    "share",
    "Trained tokens of negative advantage whose surrogate the dual clip bounds.",
  ),
  ppoKl: metric(
    "actor/ppo_kl",
    "mean",
    "nats",
    "Old minus new log-probability of the trained tokens, an estimate of the divergence within the update.",
  ),
  ratioMean: metric(
    "actor/ratio/mean",
    "mean",
    "1",
    "New over old probability of the trained tokens; with gspo, of their sequences per token.",
  ),
  ratioMin: metric("actor/ratio/min", "min", "1", "Smallest ratio of new to old probability of a trained token."),
  ratioMax: metric("actor/ratio/max", "max", "1", "Largest ratio of new to old probability of a trained token."),
  cappedFraction: metric(
    "correction/capped_fraction",
    "share",
    "share",
    "Trained tokens whose importance weight a bound of the correction changed.",
  ),
  droppedFraction: metric(
    "correction/dropped_fraction",
    "share",
    "share",
    "Trained tokens that the correction gives the weight 0.",
  ),
  droppedSequences: metric(
    "correction/dropped_sequences",
    "share",
    "share",
    "Sequences of which the correction leaves no token a weight.",
  ),
  weightEss: metric(
    "correction/ess",
    "share",
    "share",
    "Effective share of the sample under the weights that the correction gives: (sum w)^2 / (n sum w^2).",
  ),
  weightMean: metric("correction/weight/mean", "mean", "1", "Importance weight of a trained token in the loss."),
  softReweightMin: metric(
    "train/soft_reweight_min",
    "min",
    "1",
    "Smallest weight that soft reweighting gives a group: its spread over the largest.",
  ),
  softReweightMax: metric("train/soft_reweight_max", "max", "1", "Largest weight that soft reweighting gives a group."),
  softReweightMean: metric("train/soft_reweight_mean", "mean", "1", "Weight that soft reweighting gives a group."),
};

const mismatch = {
  mismatchMean: metric(
    "mismatch/abs/mean",
    "mean",
    "nats",
    "Distance between mu and the policy's log-probability of a token before any step of the update.",
  ),
  mismatchMax: metric(
    "mismatch/abs/max",
    "max",
    "nats",
    "Largest distance between mu and the policy's log-probability of a trained token before any step of the update.",
  ),
  mismatchKl: metric("mismatch/kl", "mean", "nats", "k3 estimate of KL(mu || policy) before any step of the update."),
  mismatchEss: metric(
    "mismatch/ess",
    "share",
    "share",
    "Effective share of the sample under the weights policy / mu: (sum w)^2 / (n sum w^2).",
  ),
  staleFraction: metric(
    "mismatch/stale_fraction",
    "share",
    "share",
    "Trained tokens that were sampled by older weights than the learner's.",
  ),
  freshMean: metric(
    "mismatch/fresh/abs/mean",
    "mean",
    "nats",
    "As mismatch/abs/mean, over tokens of the learner's weights.",
  ),
  freshMax: metric(
    "mismatch/fresh/abs/max",
    "max",
    "nats",
    "As mismatch/abs/max, over tokens of the learner's weights.",
  ),
  freshKl: metric("mismatch/fresh/kl", "mean", "nats", "As mismatch/kl, over tokens of the learner's weights."),
  staleMean: metric("mismatch/stale/abs/mean", "mean", "nats", "As mismatch/abs/mean, over tokens of older weights."),
  staleMax: metric("mismatch/stale/abs/max", "max", "nats", "As mismatch/abs/max, over tokens of older weights."),
  staleKl: metric("mismatch/stale/kl", "mean", "nats", "As mismatch/kl, over tokens of older weights."),
};

const critic = {
  vfLoss: metric("critic/vf_loss", "mean", "1", "Clipped value loss, over the optimiser steps that were applied."),
  vfClipFraction: metric(
    "critic/vf_clipfrac",
    "share",
    "share",
    "Trained tokens whose value loss is larger for the clip than without it.",
  ),
  predictedMean: metric(
    "critic/vpred_mean",
    "mean",
    "reward",
    "The critic's values during the update, before each step.",
  ),
  criticGradNorm: metric("critic/grad_norm", "mean", "1", "Global norm of the critic's gradient before clipping."),
  criticLr: metric("critic/lr", "level", "1", "Learning rate of the critic in this update."),
  criticSkipped: metric(
    "critic/skipped_not_finite",
    "counter",
    "1",
    "Optimiser steps of the critic that were skipped: a number of the loss, the gradient or the result was not finite.",
  ),
  explainedVariance: metric(
    "critic/vf_explained_var",
    "mean",
    "1",
    "Share of the returns' variance that the values explain; negative where they are worse than a constant.",
  ),
};

const batch = {
  scoreMean: metric(
    "critic/score/mean",
    "mean",
    "reward",
    "Rewards of an episode, normalised and with penalties, added up.",
  ),
  scoreMax: metric("critic/score/max", "max", "reward", "Largest score of an episode."),
  scoreMin: metric("critic/score/min", "min", "reward", "Smallest score of an episode."),
  rewardsMean: metric(
    "critic/rewards/mean",
    "mean",
    "reward",
    "The same as critic/score/mean, less the divergence where algorithm.use_kl_in_reward takes it off.",
  ),
  rewardsMax: metric("critic/rewards/max", "max", "reward", "Largest critic/rewards value of an episode."),
  rewardsMin: metric("critic/rewards/min", "min", "reward", "Smallest critic/rewards value of an episode."),
  advantagesMean: metric("critic/advantages/mean", "mean", "1", "Advantage of a trained token."),
  advantagesMax: metric("critic/advantages/max", "max", "1", "Largest advantage of a trained token."),
  advantagesMin: metric("critic/advantages/min", "min", "1", "Smallest advantage of a trained token."),
  returnsMean: metric("critic/returns/mean", "mean", "reward", "Return of a trained token."),
  returnsMax: metric("critic/returns/max", "max", "reward", "Largest return of a trained token."),
  returnsMin: metric("critic/returns/min", "min", "reward", "Smallest return of a trained token."),
  valuesMean: metric("critic/values/mean", "mean", "reward", "The critic's value of a trained token at consumption."),
  valuesMax: metric("critic/values/max", "max", "reward", "Largest value of a trained token at consumption."),
  valuesMin: metric("critic/values/min", "min", "reward", "Smallest value of a trained token at consumption."),
};

/** `staleness`: 0 to 7 versions, and `8_or_more`. */
const byStaleness = {
  essByStaleness: family(
    "mismatch/ess/staleness/{staleness}",
    "share",
    "share",
    "As mismatch/ess, over tokens whose weights were so many versions behind.",
  ),
  klByStaleness: family(
    "mismatch/kl/staleness/{staleness}",
    "mean",
    "nats",
    "As mismatch/kl, over tokens whose weights were so many versions behind.",
  ),
  clipFractionByStaleness: family(
    "actor/pg_clipfrac/staleness/{staleness}",
    "share",
    "share",
    "As actor/pg_clipfrac, over tokens whose weights were so many versions behind.",
  ),
};

/**
 * `phase`: `update_critic`, `ref`, `old_log_prob`, `gradient_analysis`, `update_actor`; `gradient_analysis_gen`, the part of the analysis in
 * which groups are played for it.
 */
const timing = family("timing_s/{phase}", "mean", "s", "Seconds of a phase of the update.");

/** Metrics of an update. */
export const learner = { ...policy, ...mismatch, ...byStaleness, ...critic, ...batch, timing } as const;
