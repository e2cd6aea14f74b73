/**
 * Whether an answer is right. RAGEN's rule is equality of the condensed texts; `match: number` also takes equal numbers, however they
 * are written; a choice may be named by its letter or by its words. Pure and total: any text is right or wrong.
 */
import { bare, condensed, numberOf } from "./mathText.ts";
import { letterOf, type Question } from "./Question.ts";

export interface Judging {
  readonly match: "text" | "number";
  /** Relative error allowed of a number that is not whole. */
  readonly tolerance: number;
}

/** The letter a text chooses, or null: `B`, `(b)`, `B. its words`, or the words alone. */
export const chosen = (answer: string, choices: readonly string[]): string | null => {
  const text = condensed(answer);
  const words = choices.map(condensed);
  const lettered = /^\(?([a-z])(?:\)|[.:)]|$)(.*)$/.exec(text);
  if (lettered !== null) {
    const index = lettered[1]!.charCodeAt(0) - "a".charCodeAt(0);
    if (index < choices.length && (lettered[2] === "" || lettered[2] === words[index])) return letterOf(index);
  }
  const index = words.indexOf(text);
  return index < 0 ? null : letterOf(index);
};

const close = (value: number, gold: number, tolerance: number): boolean => {
  const error = Math.abs(value - gold);
  return Number.isInteger(gold) ? error <= 1e-9 * Math.max(1, Math.abs(gold)) : error <= tolerance * Math.abs(gold);
};

/** The items of a list in its brackets. */
const itemsOf = (text: string): readonly string[] | null =>
  /^[[({].*[\])}]$/.test(text) && text.includes(",") ? text.slice(1, -1).split(",") : null;

const sameValue = (answer: string, gold: string, tolerance: number): boolean => {
  if (answer === gold) return true;
  const [value, wanted] = [numberOf(answer), numberOf(gold)];
  if (value !== null && wanted !== null) return close(value, wanted, tolerance);
  const [items, golds] = [itemsOf(answer), itemsOf(gold)];
  if (items === null || golds === null || items.length !== golds.length) return false;
  if (answer[0] !== gold[0] || answer.at(-1) !== gold.at(-1)) return false;
  return items.every((item, at) => {
    const [one, other] = [numberOf(item), numberOf(golds[at]!)];
    return item === golds[at] || (one !== null && other !== null && close(one, other, tolerance));
  });
};

export const right = ({ match, tolerance }: Judging, { choices, gold }: Question, answer: string): boolean => {
  if (choices !== null) return chosen(answer, choices) === gold;
  if (condensed(answer) === condensed(gold)) return true;
  return match === "number" && sameValue(bare(answer), bare(gold), tolerance);
};
