/**
 * MetamathQA (RAGEN): a mathematical problem, answered in free text until the answer is right; try k earns 1/2^k. The answer is compared with
 * the one after "The answer is:" in the row's solution, without white space and case, or as a number (`match`). Under `instances: ragen` a
 * seed selects the row that Python's `random.randint` draws, as long as no row is left out.
 */
import { pythonRandom } from "../random/PythonRandom.ts";
import { isRightAnswer } from "../static_qa/answerMatching.ts";
import { makeQuiz } from "../static_qa/Quiz.ts";
import { MetamathQAConfig, sourceOf, standIn } from "./MetamathQAConfig.ts";

export const MetamathQA = makeQuiz<MetamathQAConfig>({
  type: "metamathqa",
  config: MetamathQAConfig,
  source: sourceOf,
  isRight: isRightAnswer,
  draws: ({ instances }, instance) => (instances === "ragen" ? pythonRandom(instance.key.seed) : instance),
  standIn: ({ path }) =>
    path === standIn ? `${standIn} stands in for MetaMathQA: set path to its file to play the set itself` : null,
});
