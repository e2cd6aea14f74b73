/** Answers of a player without a model: the right one, a near miss, words, or nothing. */
import type { QuizState } from "../../../../src/env/games/static_qa/Quiz.ts";
import type { Act } from "../../contract/players.ts";

export const attempt: Act = (state, random) => {
  const { gold } = (state as QuizState).question;
  return random.pick([gold, ` ${gold} `, `${gold}1`, "I do not know, 17 || 18", ""]);
};
