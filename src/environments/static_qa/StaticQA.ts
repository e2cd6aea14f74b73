/**
 * Questions of a fixed set (GSM8K, MetaMathQA, TheoremQA, MMLU or a file of one's own), answered until right: 1/2^k on try k. The sets
 * differ in how a file is laid out and in when an answer is right; both are `env_config`.
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
