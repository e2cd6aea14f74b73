/** Checks of the policy's loss, its mask and the divergence from a reference policy. */
import { type Check, problemIf } from "./Check.ts";

/** Losses with a ratio per sequence are means over sequences. */
export const policyLoss: Check = ({ actor: { loss_agg_mode, policy_loss } }) =>
  problemIf(
    (policy_loss === "gspo" || policy_loss === "geo_mean") && loss_agg_mode !== "seq-mean-token-mean",
    () =>
      `actor.loss_agg_mode: ${loss_agg_mode}: actor.policy_loss=${policy_loss} is a mean over sequences; nearest: seq-mean-token-mean`,
  );

/** A loss of the user's own and its module come together. */
export const customLoss: Check = ({ actor: { custom_loss, policy_loss } }) => [
  ...problemIf(
    policy_loss === "custom" && custom_loss === null,
    () => "actor.custom_loss: null: actor.policy_loss=custom needs a module; nearest: ./loss.ts",
  ),
  ...problemIf(
    policy_loss !== "custom" && custom_loss !== null,
    () => `actor.policy_loss: ${policy_loss}: the module of actor.custom_loss would not be used; nearest: custom`,
  ),
];

export const responseMask: Check = ({ algorithm: { bi_level_gae, correction }, rollout }) => {
  if (rollout.enable_response_mask) return [];
  const line = (because: string) => `rollout.enable_response_mask: false: ${because}; nearest: true`;
  return [
    ...problemIf(bi_level_gae || correction === "vtrace", () =>
      line(
        `${bi_level_gae ? "algorithm.bi_level_gae" : "algorithm.correction=vtrace"} ends a turn where its trained tokens end, and then they never do`,
      ),
    ),
    ...problemIf(rollout.context !== "full", () =>
      line(`rollout.context=${rollout.context} shows turns again in later sequences, which would be trained on again`),
    ),
  ];
};

export const divergence: Check = ({ actor, algorithm }) => {
  const { bi_level_gae, kl_ctrl, use_kl_in_reward } = algorithm;
  return [
    ...problemIf(
      use_kl_in_reward && kl_ctrl.kl_coef === 0,
      () =>
        "algorithm.kl_ctrl.kl_coef: 0: algorithm.use_kl_in_reward has no effect, and an adaptive coefficient stays 0; nearest: 0.001",
    ),
    ...problemIf(
      use_kl_in_reward && bi_level_gae,
      () =>
        "algorithm.use_kl_in_reward: true: algorithm.bi_level_gae passes rewards from turn to turn by their last tokens alone, and the divergence is a reward of every token; nearest: false, with actor.use_kl_loss",
    ),
    ...problemIf(
      actor.ref_update_freq > 0 && !use_kl_in_reward && !actor.use_kl_loss,
      () =>
        `actor.ref_update_freq: ${actor.ref_update_freq}: without actor.use_kl_loss or algorithm.use_kl_in_reward there is no reference policy; nearest: 0`,
    ),
  ];
};
