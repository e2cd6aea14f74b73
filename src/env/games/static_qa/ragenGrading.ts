/**
 * The rules by which RAGEN's static environment calls an answer right. `text`: equal without case, white space and ASCII punctuation. `number`:
 * equal as text, or the first unsigned number equals the first one of the right answer. `letter`: the first letter A to D anywhere is the
 * right one, so that `Both` chooses B.
 */
export type RagenGrading = "text" | "number" | "letter";

const normalised = (text: string): string =>
  text
    .toLowerCase()
    .replace(/\s+/g, "")
    .replace(/[!-/:-@[-`{-~]/g, "");

/** The value of a decimal digit of any script. The digits of each script have consecutive code points from 0 to 9. */
const digitOf = (digit: string): string => {
  const code = digit.codePointAt(0)!;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
};

const firstNumber = (text: string): number | null => {
  const match = /\d+(?:\.\d+)?/.exec(text.replace(/\p{Nd}/gu, digitOf));
  return match === null ? null : Number(match[0]);
};

const firstLetter = (text: string): string | null => /[A-D]/.exec(text.toUpperCase())?.[0] ?? null;

export const isRightInRagen = (grading: RagenGrading, gold: string, answer: string): boolean => {
  const sameText = normalised(answer) === normalised(gold);
  if (grading === "text") return sameText;
  if (grading === "number") {
    const value = firstNumber(answer);
    return sameText || (value !== null && value === firstNumber(gold));
  }
  const [letter, goldLetter] = [firstLetter(answer), firstLetter(gold)];
  return letter !== null && goldLetter !== null ? letter === goldLetter : sameText;
};
