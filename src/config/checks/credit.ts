/** Checks of credit assignment: options that undo one another, have no effect together, or lack what they need. */
import { playedTags } from "../levels.ts";
import type { RunConfig } from "../RunConfig.ts";
import { type Check, problemIf } from "./Check.ts";

type Estimator = RunConfig["algorithm"]["adv_estimator"];

/** Estimators with one advantage per episode, which cannot tell its turns apart. */
const sumsTurns: readonly Estimator[] = ["grpo", "brpo", "arpo", "rloo", "reinforce_plus_plus_baseline"];

/** True if rewards are normalised over all episodes of a window. */
const isOverWindow = (config: RunConfig): boolean =>
  config.reward.grouping === "batch" ||
  (config.reward.grouping === "inductive" && playedTags(config, "train").length === 1);

/** True if the estimator divides by a deviation itself, so that normalising rewards by theirs changes nothing. */
const dividesByDeviation = (config: RunConfig): boolean => {
  const { adv_estimator, gamma, norm_adv_by_std_in_grpo: byStd } = config.algorithm;
  if (adv_estimator === "grpo") return byStd;
  if (adv_estimator === "reinforce_plus_plus") return isOverWindow(config) && gamma === 1;
  return adv_estimator === "reinforce_plus_plus_baseline" && isOverWindow(config);
};

const normalisation: Check = (config) => {
  const { algorithm, reward } = config;
  const { adv_estimator } = algorithm;
  if (reward.method === "identity") return [];
  const line = (because: string) => [`reward.method: ${reward.method}: ${because}; nearest: identity`];
  if (reward.use_turn_scores) return line("turn scores (reward.use_turn_scores) are never normalised");
  if (adv_estimator === "brpo") return line("algorithm.adv_estimator=brpo normalises the raw scores over the window");
  if (adv_estimator === "arpo" && reward.grouping === "state") {
    return line(
      "algorithm.adv_estimator=arpo takes the raw score, and within the group (reward.grouping=state) this is grpo",
    );
  }
  if (reward.method === "mean_std" && dividesByDeviation(config)) {
    return line(
      `algorithm.adv_estimator=${adv_estimator} divides by the deviation anyway, and the filter would see no spread`,
    );
  }
  return [];
};

/** An estimator of the user's own and its module come together. */
const customEstimator: Check = ({ algorithm: { adv_estimator, custom_estimator } }) => [
  ...problemIf(
    adv_estimator === "custom" && custom_estimator === null,
    () => "algorithm.custom_estimator: null: algorithm.adv_estimator=custom needs a module; nearest: ./estimator.ts",
  ),
  ...problemIf(
    adv_estimator !== "custom" && custom_estimator !== null,
    () =>
      `algorithm.adv_estimator: ${adv_estimator}: the module of algorithm.custom_estimator would not be used; nearest: custom`,
  ),
];

const turnScores: Check = ({ algorithm: { adv_estimator }, reward }) =>
  problemIf(
    reward.use_turn_scores && sumsTurns.includes(adv_estimator),
    () =>
      `reward.use_turn_scores: true: algorithm.adv_estimator=${adv_estimator} has one advantage per episode and cannot tell its turns apart; nearest: false, or gae`,
  );

const reweighting: Check = ({ actor, algorithm }) => {
  const { adv_estimator, grpo_advantage_length_weight, soft_advantage_reweight, zero_task_advantage } = algorithm;
  const ofGrpo = (key: string) =>
    `algorithm.${key}: true: it is defined for grpo, and algorithm.adv_estimator is ${adv_estimator}; nearest: false`;
  return [
    ...problemIf(soft_advantage_reweight && adv_estimator !== "grpo", () => ofGrpo("soft_advantage_reweight")),
    ...problemIf(grpo_advantage_length_weight && adv_estimator !== "grpo", () =>
      ofGrpo("grpo_advantage_length_weight"),
    ),
    ...problemIf(
      zero_task_advantage && actor.entropy_coeff === 0 && !actor.use_kl_loss,
      () =>
        "algorithm.zero_task_advantage: true: without actor.entropy_coeff and actor.use_kl_loss nothing trains the policy; nearest: false",
    ),
  ];
};

const biLevel: Check = ({ algorithm: { adv_estimator, bi_level_gae, correction } }) => {
  if (!bi_level_gae) return [];
  const line = (because: string) => `algorithm.bi_level_gae: true: ${because}; nearest: false`;
  if (adv_estimator !== "gae") return [line(`it is a form of gae, and algorithm.adv_estimator is ${adv_estimator}`)];
  return problemIf(correction === "vtrace", () =>
    line("algorithm.correction=vtrace has turns as its steps and takes the place of gae"),
  );
};

/** Corrections that drop ratios below the floor and above the cap. */
const twoSided: readonly RunConfig["algorithm"]["correction"][] = ["icepop", "seq_mask", "seq_reject"];

const corrections: Check = ({ algorithm }) => {
  const { adv_estimator, correction, correction_cap: cap, correction_floor: floor, gamma } = algorithm;
  const vtrace = correction === "vtrace";
  return [
    ...problemIf(
      vtrace && adv_estimator !== "gae",
      () =>
        `algorithm.correction: vtrace: it corrects a critic's values, and algorithm.adv_estimator=${adv_estimator} has no critic; nearest: tis, or gae`,
    ),
    ...problemIf(
      vtrace && gamma !== 1,
      () =>
        `algorithm.gamma: ${gamma}: algorithm.correction=vtrace discounts turns (algorithm.high_level_gamma) and no tokens; nearest: 1`,
    ),
    ...problemIf(
      vtrace && algorithm.vtrace_c_bar > algorithm.vtrace_rho_bar,
      () =>
        `algorithm.vtrace_c_bar: ${algorithm.vtrace_c_bar}: above algorithm.vtrace_rho_bar (${algorithm.vtrace_rho_bar}), values need not converge; nearest: ${algorithm.vtrace_rho_bar}`,
    ),
    ...problemIf(
      twoSided.includes(correction) && cap > 0 && floor > cap,
      () =>
        `algorithm.correction_floor: ${floor}: above algorithm.correction_cap (${cap}), no ratio is kept; nearest: ${cap}`,
    ),
  ];
};

/** Divergences belong to sequences. Estimators of whole episodes cannot use them if an episode has several. */
const divergence: Check = ({ algorithm: { adv_estimator, use_kl_in_reward }, rollout: { context } }) =>
  problemIf(
    use_kl_in_reward && context !== "full" && adv_estimator !== "gae",
    () =>
      `algorithm.use_kl_in_reward: true: rollout.context=${context} gives an episode several sequences, each with its own divergence, and algorithm.adv_estimator=${adv_estimator} takes one score per episode; nearest: false, with actor.use_kl_loss`,
  );

export const creditChecks: readonly Check[] = [
  normalisation,
  customEstimator,
  turnScores,
  reweighting,
  biLevel,
  corrections,
  divergence,
];
