/**
 * Questions of a fixed set (GSM8K, MetaMathQA, TheoremQA, MMLU or a user's file), answered until right; try k earns 1/2^k. The sets differ in
 * the layout of their files and in the rule for right answers; `env_config` sets both.
 */
import { isRightAnswer } from "./answerMatching.ts";
import type { LayoutName } from "./layouts.ts";
import { makeQuiz } from "./Quiz.ts";
import { isRightInRagen, type RagenGrading } from "./ragenGrading.ts";
import { StaticQAConfig, sourceOf, standIns } from "./StaticQAConfig.ts";

/** RAGEN's grading of each set. RAGEN has no TheoremQA and no plain files, whose answers are mostly numbers. */
const gradings: Readonly<Record<LayoutName, RagenGrading>> = {
  gsm8k: "number",
  metamathqa: "text",
  theoremqa: "number",
  mmlu: "letter",
  plain: "number",
};

export const StaticQA = makeQuiz<StaticQAConfig>({
  type: "static_qa",
  config: StaticQAConfig,
  source: sourceOf,
  isRight: ({ dataset, match, tolerance }, question, answer) =>
    match === "ragen"
      ? isRightInRagen(gradings[dataset], question.gold, answer)
      : isRightAnswer({ match, tolerance }, question, answer),
  draws: (_config, instance) => instance,
  standIn: ({ dataset, path }) =>
    path === "" ? `${standIns[dataset]} stands in for ${dataset}: set path to play the set itself` : null,
});
