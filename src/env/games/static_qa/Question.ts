/** A question with its right answer. A row of a data set gives it, and an episode's state carries it. */

export interface QuizQuestion {
  /** The whole text, including the choices. */
  readonly text: string;
  /** The right answer; the letter of a choice if there are choices. */
  readonly gold: string;
  /** The texts of the choices A, B, C…; null if the answer is free. */
  readonly choices: readonly string[] | null;
}

/** The letter of choice `index`, in upper case. */
export const letterOf = (index: number): string => String.fromCharCode("A".charCodeAt(0) + index);
