/** `env_config` of Bandit; keys and defaults are RAGEN's, and `split: auto` follows the run's split instead of pinning one. */
import { Schema } from "effect";
import { field, fraction, reward } from "../../../config/field.ts";
import { renderMode } from "../GridText.ts";
import { instances } from "../instances.ts";

export const BanditConfig = Schema.Struct({
  split: field(
    Schema.Literals(["train", "test", "auto"]),
    "train",
    "Names of the arms: the train pairs, the test pairs, or (auto) the pairs of the split for which the instance is drawn.",
  ),
  lo_arm_score: field(reward, 0.1, "Payout of the low-risk arm."),
  hi_arm_loscore: field(reward, 0, "Usual payout of the high-risk arm."),
  hi_arm_hiscore: field(reward, 1, "Lucky payout of the high-risk arm."),
  hi_arm_hiscore_prob: field(fraction, 0.25, "Probability of the lucky payout."),
  instances,
  render_mode: renderMode,
});
export type BanditConfig = typeof BanditConfig.Type;
