/** A question with its right answer: made of a row of a data set, carried by an episode. */

export interface Question {
  /** The whole text, the choices included. */
  readonly text: string;
  /** The right answer; the letter of a choice where there are choices. */
  readonly gold: string;
  /** What A, B, C… stand for; null where the answer is free. */
  readonly choices: readonly string[] | null;
}

/** The letter of choice `index`, in upper case. */
export const letterOf = (index: number): string => String.fromCharCode("A".charCodeAt(0) + index);
