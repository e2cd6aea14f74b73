/**
 * Questions of a fixed set (GSM8K, MetaMathQA, TheoremQA, MMLU or a file of the user's), answered until right: 1/2^k on try k. The sets
 * differ in the layout of their files and in when an answer is right; `env_config` sets both.
 */
import { quiz } from "./Quiz.ts";
import { StaticQAConfig, sourceOf, standIns } from "./StaticQAConfig.ts";

export const StaticQA = quiz<StaticQAConfig>({
  type: "static_qa",
  config: StaticQAConfig,
  source: sourceOf,
  draws: (_config, instance) => instance,
  standIn: ({ dataset, path }) =>
    path === "" ? `${standIns[dataset]} stands in for ${dataset}: set path to play the set itself` : null,
});
