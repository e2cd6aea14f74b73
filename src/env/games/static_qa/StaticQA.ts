/**
 * Questions of a fixed set (GSM8K, MetaMathQA, TheoremQA, MMLU or a file of the user's), answered until right: 1/2^k on try k. The sets
 * differ in the layout of their files and in when an answer is right; `env_config` sets both.
 */
import { right } from "./judge.ts";
import type { LayoutName } from "./layouts.ts";
import { quiz } from "./Quiz.ts";
import { type RagenGrading, rightInRagen } from "./ragenGrading.ts";
import { StaticQAConfig, sourceOf, standIns } from "./StaticQAConfig.ts";

/** RAGEN's grading of each set; it has no TheoremQA and no other files, whose answers are mostly numbers. */
const gradings: Readonly<Record<LayoutName, RagenGrading>> = {
  gsm8k: "number",
  metamathqa: "text",
  theoremqa: "number",
  mmlu: "letter",
  plain: "number",
};

export const StaticQA = quiz<StaticQAConfig>({
  type: "static_qa",
  config: StaticQAConfig,
  source: sourceOf,
  right: ({ dataset, match, tolerance }, question, answer) =>
    match === "ragen"
      ? rightInRagen(gradings[dataset], question.gold, answer)
      : right({ match, tolerance }, question, answer),
  draws: (_config, instance) => instance,
  standIn: ({ dataset, path }) =>
    path === "" ? `${standIns[dataset]} stands in for ${dataset}: set path to play the set itself` : null,
});
