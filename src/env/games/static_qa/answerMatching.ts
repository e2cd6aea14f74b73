/**
 * The rule for right answers. RAGEN's rule is equality of the condensed texts; `match: number` also accepts equal numbers, however they are
 * written; a choice may be named by its letter or by its words. The functions are pure and total: any text is right or wrong.
 */

import { Schema } from "effect";
import { field, fraction } from "../../../config/field.ts";
import { condense, numberOf, withoutTypesetting } from "./mathText.ts";
import { letterOf, type QuizQuestion } from "./Question.ts";

export interface AnswerMatching {
  readonly match: "text" | "number";
  /** The relative error allowed for a number that is not whole. */
  readonly tolerance: number;
}

/** The keys of `env_config` with the rule for right answers, which all environments with questions share. */
export const matchingKeys = (match: AnswerMatching["match"]) => ({
  match: field(
    Schema.Literals(["text", "number"]),
    match,
    "Rule for a right free answer. text: equal as text but for white space and case (RAGEN's rule); number: also equal as a number or a list of numbers.",
  ),
  tolerance: field(
    fraction,
    1e-6,
    "match number: relative error allowed if the right number is not whole; a whole number must be met exactly.",
  ),
});

/** The letter that a text chooses by `B`, `(b)`, `B. its words` or the words alone; null if it chooses none. */
export const chosenLetter = (answer: string, choices: readonly string[]): string | null => {
  const text = condense(answer);
  const words = choices.map(condense);
  const lettered = /^\(?([a-z])(?:\)|[.:)]|$)(.*)$/.exec(text);
  if (lettered !== null) {
    const index = lettered[1]!.charCodeAt(0) - "a".charCodeAt(0);
    if (index < choices.length && (lettered[2] === "" || lettered[2] === words[index])) return letterOf(index);
  }
  const index = words.indexOf(text);
  return index < 0 ? null : letterOf(index);
};

const isClose = (value: number, gold: number, tolerance: number): boolean => {
  const error = Math.abs(value - gold);
  return Number.isInteger(gold) ? error <= 1e-9 * Math.max(1, Math.abs(gold)) : error <= tolerance * Math.abs(gold);
};

/** The items of a list in its brackets. */
const itemsOf = (text: string): readonly string[] | null =>
  /^[[({].*[\])}]$/.test(text) && text.includes(",") ? text.slice(1, -1).split(",") : null;

const isSameValue = (answer: string, gold: string, tolerance: number): boolean => {
  if (answer === gold) return true;
  const [value, goldValue] = [numberOf(answer), numberOf(gold)];
  if (value !== null && goldValue !== null) return isClose(value, goldValue, tolerance);
  const [items, golds] = [itemsOf(answer), itemsOf(gold)];
  if (items === null || golds === null || items.length !== golds.length) return false;
  if (answer[0] !== gold[0] || answer.at(-1) !== gold.at(-1)) return false;
  return items.every((item, at) => {
    const [one, other] = [numberOf(item), numberOf(golds[at]!)];
    return item === golds[at] || (one !== null && other !== null && isClose(one, other, tolerance));
  });
};

export const isRightAnswer = (
  { match, tolerance }: AnswerMatching,
  { choices, gold }: QuizQuestion,
  answer: string,
): boolean => {
  if (choices !== null) return chosenLetter(answer, choices) === gold;
  if (condense(answer) === condense(gold)) return true;
  return match === "number" && isSameValue(withoutTypesetting(answer), withoutTypesetting(gold), tolerance);
};
