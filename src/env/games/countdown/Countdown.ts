/**
 * Countdown: one answer must make the target from the given numbers, each used exactly once. The right numbers earn `format_score`, the right
 * value `score`, any other answer nothing. Values are exact. A grammar of ours parses the answer, which is never executed, so an operator
 * that only Python has is a wrong answer.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { CountdownConfig, operationsOf } from "./CountdownConfig.ts";
import { evaluate, parseExpression } from "./Expression.ts";
import { drawProblem, type Problem } from "./Problem.ts";
import { equals, text, whole } from "./Rational.ts";
import { shortestExpression } from "./Solver.ts";

export interface CountdownState extends Problem {
  /** The answer that ended the episode. */
  readonly answer: { readonly reward: number; readonly success: boolean } | null;
}

export interface CountdownInfo extends BaseInfo {
  /** True if the answer uses each given number once, and no other. */
  readonly uses_numbers: boolean;
}

interface AnswerGrade {
  readonly usesNumbers: boolean;
  /** True if the answer is an expression with a value. */
  readonly readable: boolean;
  readonly right: boolean;
}

/** The runs of digits in an answer, as RAGEN counts them: a decimal is two numbers. */
const numbersIn = (answer: string): readonly number[] =>
  Array.from(answer.matchAll(/\d+/g), ([digits]) => Number(digits));

const sameNumbers = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.toSorted((x, y) => x - y).join() === b.toSorted((x, y) => x - y).join();

/** The part of the answer that is compared with the target: the left side of an equation whose right side is the target itself. */
const equationSide = (answer: string, target: number): string => {
  const [left = "", right, ...more] = answer.split("=");
  const claims = right !== undefined && more.length === 0 && /^\s*\d+\.?\s*$/.test(right) && Number(right) === target;
  return claims ? left : answer;
};

const gradeAnswer = (config: CountdownConfig, { numbers, target }: Problem, answer: string): AnswerGrade => {
  const expression = config.accept_equation ? equationSide(answer, target) : answer;
  const tree = parseExpression(expression);
  const value = tree === null ? null : evaluate(tree);
  const usesNumbers = sameNumbers(numbersIn(expression), numbers);
  return {
    usesNumbers,
    readable: value !== null,
    right: usesNumbers && value !== null && equals(value, whole(target)),
  };
};

const step = (
  config: CountdownConfig,
  state: CountdownState,
  action: string,
): Transition<CountdownState, CountdownInfo> => {
  const ended = { terminated: true, truncated: false } as const;
  if (state.answer !== null) {
    const { success } = state.answer;
    const info = { success, action_is_effective: false, action_is_valid: true, uses_numbers: false };
    return { state, reward: 0, ...ended, info };
  }
  const { readable, right, usesNumbers } = gradeAnswer(config, state, action);
  const reward = right ? config.score : usesNumbers ? config.format_score : 0;
  return {
    state: { target: state.target, numbers: state.numbers, answer: { reward, success: right } },
    reward,
    ...ended,
    info: { success: right, action_is_effective: reward > 0, action_is_valid: readable, uses_numbers: usesNumbers },
  };
};

/** The steps of an expression, e.g. `2 + 5 = 7 then 7 - 3 = 4`; empty if it cannot be read. */
const steps = (expression: string): string => {
  const tree = parseExpression(expression);
  const lines: string[] = [];
  if (tree !== null) {
    evaluate(tree, (operator, left, right, value) =>
      lines.push(`${text(left)} ${operator} ${text(right)} = ${text(value)}`),
    );
  }
  return lines.join(" then ");
};

export const Countdown: Environment<CountdownConfig, CountdownState, CountdownInfo> = {
  type: "countdown",
  config: CountdownConfig,
  reset: (config: CountdownConfig, instance: Random) => ({ ...drawProblem(config, instance), answer: null }),
  step,
  render: (_config, { answer, numbers, target }) =>
    answer === null ? `Target: ${target}, nums: [${numbers.join(", ")}]` : `Your answer gets ${answer.reward} points.`,
  /** In the compact text every number follows a space, so that it is always the same token. */
  compact: (_config, { answer, numbers, target }) =>
    answer === null ? `target ${target} from ${numbers.join(" ")}` : `reward ${answer.reward}`,
  actions: () => null,
  legend: () => "",
  /** The solution has the configured operators, and parentheses only where they are needed. */
  solve: (config, { answer, numbers, target }) => {
    if (answer !== null) return answer.success ? [] : null;
    const solution = shortestExpression(numbers, target, operationsOf(config));
    return solution === null ? null : [solution];
  },
  /** The thought is the answer's steps with their values, then the answer. */
  thought: (_config, _state, plan) => {
    const answer = plan.slice(0, 1).join("");
    const worked = steps(answer);
    return worked === "" ? `so ${answer}` : `${worked} so ${answer}`;
  },
  contentKey: (_config, { numbers, target }) => `countdown:${target}:${numbers.toSorted((a, b) => a - b).join(",")}`,
};
