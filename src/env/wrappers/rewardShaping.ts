/**
 * Reward shaping: an action's reward r becomes clip(scale * r + offset), plus the bonus if the action brings success. The bonus is added
 * after the clip, which would cut it off.
 */
import * as Schema from "effect/Schema";
import { field, reward, signedCoefficient } from "../../config/field.ts";
import type { Wrapper } from "./Wrapper.ts";

export const RewardShapingConfig = Schema.Struct({
  scale: field(signedCoefficient, 1, "Multiplies the reward of each action."),
  offset: field(reward, 0, "Number added to the scaled reward of each action."),
  clip_low: Schema.optionalKey(reward.annotate({ description: "The least an action earns, the bonus aside." })),
  clip_high: Schema.optionalKey(reward.annotate({ description: "The most an action earns, the bonus aside." })),
  success_bonus: field(reward, 0, "Number added to the reward of an action that brings success."),
}).check(
  Schema.makeFilter(({ clip_high: high = Number.POSITIVE_INFINITY, clip_low: low = Number.NEGATIVE_INFINITY }) =>
    low <= high ? undefined : { path: ["clip_low"], issue: `at most clip_high, which is ${high}` },
  ),
);

export const rewardShaping = ({
  clip_high: high = Number.POSITIVE_INFINITY,
  clip_low: low = Number.NEGATIVE_INFINITY,
  offset,
  scale,
  success_bonus: bonus,
}: typeof RewardShapingConfig.Type): Wrapper<null> => ({
  initialMemory: null,
  fractional: true,
  afterStep: (memory, { reward, success }) => ({
    memory,
    reward: Math.min(high, Math.max(low, scale * reward + offset)) + (success ? bonus : 0),
    cut: false,
  }),
});
