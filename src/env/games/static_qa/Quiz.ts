/**
 * One question, answered in free text until the answer is right. A right answer on try k (from 0) earns 1/2^k and ends the episode, whose only
 * limits are those of the run. A state carries its question, so that any thread can judge it without the data. An empty answer is an
 * invalid action and does not count as a try (in RAGEN it halves the later reward).
 */
import type { Schema } from "effect";
import type { Draws, Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Split, Transition } from "../../contract/Environment.ts";
import * as Dataset from "../dataset/Dataset.ts";
import type { Source } from "../dataset/Source.ts";
import { compactText } from "./compactText.ts";
import type { Fields } from "./layouts.ts";
import type { QuizQuestion } from "./Question.ts";

export interface QuizState {
  readonly question: QuizQuestion;
  /** The number of wrong answers so far. */
  readonly wrong: number;
  readonly solved: boolean;
}

export interface QuizInfo extends BaseInfo {
  /** True if the first try is right; its mean is the accuracy that benchmarks report. */
  readonly first_try: boolean;
}

/** The parts in which quizzes differ. */
export interface QuizDefinition<Config> {
  readonly type: string;
  readonly config: Schema.Codec<Config, unknown>;
  readonly source: (config: Config) => Source<Fields, QuizQuestion>;
  /** Returns true if an answer, which is never empty, is right. */
  readonly isRight: (config: Config, question: QuizQuestion, answer: string) => boolean;
  /** Returns the draws that choose the instance's row. */
  readonly draws: (config: Config, instance: Random) => Draws;
  /** Returns a sentence if a stand-in is played; null if the data is the set after which the environment is named. */
  readonly standIn: (config: Config) => string | null;
}

type AnswerCheck = (question: QuizQuestion, answer: string) => boolean;

const step = (isRight: AnswerCheck, state: QuizState, action: string): Transition<QuizState, QuizInfo> => {
  const valid = action.trim() !== "";
  if (state.solved || !valid) {
    return {
      state,
      reward: 0,
      terminated: state.solved,
      truncated: false,
      info: { success: state.solved, action_is_effective: false, action_is_valid: valid, first_try: false },
    };
  }
  const solved = isRight(state.question, action);
  return {
    state: { ...state, wrong: state.wrong + (solved ? 0 : 1), solved },
    reward: solved ? 2 ** -state.wrong : 0,
    terminated: solved,
    truncated: false,
    info: {
      success: solved,
      action_is_effective: solved,
      action_is_valid: true,
      first_try: solved && state.wrong === 0,
    },
  };
};

/** The result of the last answer; null before the first. */
const feedback = ({ solved, wrong }: QuizState): string | null => {
  if (solved) return "Correct!";
  return wrong > 0 ? "Incorrect. Please think again." : null;
};

export const makeQuiz = <Config>(kind: QuizDefinition<Config>): Environment<Config, QuizState, QuizInfo> => ({
  type: kind.type,
  config: kind.config,
  reset: (config, instance, split: Split) => ({
    question: Dataset.draw(kind.source(config), split, kind.draws(config, instance)),
    wrong: 0,
    solved: false,
  }),
  step: (config, state, action) => step((question, answer) => kind.isRight(config, question, answer), state, action),
  render: (_config, state) => feedback(state) ?? state.question.text,
  compact: (_config, state) => feedback(state) ?? compactText(state.question.text),
  actions: () => null,
  wholeAnswer: true,
  legend: () => "",
  solve: (_config, { question, solved }) => (solved ? [] : [question.gold]),
  thought: (_config, _state, plan) => `the answer is ${plan[0] ?? ""}`,
  contentKey: (_config, { question }) => `${kind.type}:${question.text}`,
  lacks: (config) => Dataset.lacks(kind.source(config)),
  report: async (config) => {
    const standIn = kind.standIn(config);
    return [...(standIn === null ? [] : [standIn]), ...(await Dataset.report(kind.source(config)))];
  },
  prepare: async (config) => void (await Dataset.load(kind.source(config))),
});
