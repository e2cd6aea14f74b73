/**
 * Bandit: one pull of one of two arms, whose names hint at their risk. Success is choosing the high-risk arm (the better mean), whatever it
 * pays. Names and order belong to the instance, so a group shares its prompt and only the payout differs per episode. In RAGEN the members
 * of a group see different names; `instances: ragen` gives the whole group those of RAGEN's member 0.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Split, Transition } from "../../contract/Environment.ts";
import { IllegalAction } from "../../contract/IllegalAction.ts";
import { numpyGenerator } from "../random/NumpyGenerator.ts";
import { type ArmPair, armNames } from "./armNames.ts";
import { BanditConfig } from "./BanditConfig.ts";

export interface BanditState {
  /** The two names in the order they are shown. */
  readonly arms: readonly [string, string];
  /** The index of the high-risk arm. */
  readonly risky: number;
  /** The pull that ended the episode. */
  readonly pull: { readonly arm: number; readonly reward: number } | null;
}

interface Arms {
  readonly pair: ArmPair;
  readonly risky: number;
}

const drawArms = (names: keyof typeof armNames, random: Random): Arms => ({
  pair: random.pick(armNames[names]),
  risky: random.int(2),
});

const ragenArms = (names: keyof typeof armNames, { key }: Random): Arms => {
  const random = numpyGenerator(key.seed);
  const pairs = armNames[names];
  return { pair: pairs[Math.floor(random.uniform() * pairs.length)]!, risky: random.uniform() < 0.5 ? 1 : 0 };
};

const reset = (config: BanditConfig, instance: Random, split: Split): BanditState => {
  const names = config.split === "auto" ? (split === "train" ? "train" : "test") : config.split;
  const { pair, risky } = config.instances === "ragen" ? ragenArms(names, instance) : drawArms(names, instance);
  const [low, high] = pair;
  return { arms: risky === 0 ? [high, low] : [low, high], risky, pull: null };
};

const payout = (config: BanditConfig, risky: boolean, noise: Random): number => {
  if (!risky) return config.lo_arm_score;
  return noise.uniform() < config.hi_arm_hiscore_prob ? config.hi_arm_hiscore : config.hi_arm_loscore;
};

const step = (
  config: BanditConfig,
  state: BanditState,
  action: string,
  noise: Random,
): Transition<BanditState, BaseInfo> => {
  const arm = state.arms.indexOf(action);
  if (arm < 0) throw new IllegalAction({ env_type: "bandit", action, valid: state.arms });
  if (state.pull !== null) {
    const info = { success: state.pull.arm === state.risky, action_is_effective: false, action_is_valid: true };
    return { state, reward: 0, terminated: true, truncated: false, info };
  }
  const reward = payout(config, arm === state.risky, noise);
  return {
    state: { ...state, pull: { arm, reward } },
    reward,
    terminated: true,
    truncated: false,
    info: { success: arm === state.risky, action_is_effective: true, action_is_valid: true },
  };
};

/** A payout as RAGEN prints it: always with a decimal point. */
const points = (reward: number): string => (Number.isInteger(reward) ? reward.toFixed(1) : String(reward));

const result = ({ arms, pull }: BanditState): string | null =>
  pull === null ? null : `${arms[pull.arm]}: ${points(pull.reward)} points`;

const rules = ([first, second]: readonly [string, string]): string =>
  [
    "You are playing a bandit game. Your goal is to collect as much reward as possible by choosing which arm to pull.",
    "Rules:",
    `1. There are two arms, called ${first} and ${second}.`,
    "2. Each arm pays from a reward distribution of its own, and that distribution fits its name.",
    "3. Think about what each name stands for to guess how its rewards may be distributed.",
    `4. Decide which arm is likely to pay more on average. Choose ${first} or ${second} and reply with <answer> ${first} </answer> or <answer> ${second} </answer>.`,
  ].join("\n");

export const Bandit: Environment<BanditConfig, BanditState> = {
  type: "bandit",
  config: BanditConfig,
  reset,
  step,
  render: (_config, state) => result(state) ?? rules(state.arms),
  compact: (_config, state) => result(state) ?? state.arms.join("\n"),
  actions: (_config, state) => state.arms,
  actionsInState: true,
  legend: () => "",
  solve: (_config, state) => {
    if (state.pull === null) return [state.arms[state.risky]!];
    return state.pull.arm === state.risky ? [] : null;
  },
  thought: (_config, _state, plan) => `choose ${plan[0] ?? ""}`,
  contentKey: (_config, { arms }) => `bandit:${arms.join("|")}`,
};
