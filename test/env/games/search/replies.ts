/** Replies to SearchQA as a poor player writes them: searches of the question's words, answers right and wrong, and odd texts. */
import type { SearchState } from "../../../../src/env/games/search/SearchQA.ts";
import type { Act } from "../../contract/players.ts";

export const reply: Act = (state, random) => {
  const { answers, question } = state as SearchState;
  const words = question.split(" ");
  const start = random.int(words.length);
  const query = words.slice(start, start + 4).join(" ");
  return random.pick([
    `search[${query}]`,
    `search[${query}]`,
    `search[${query}]`,
    "search[]",
    "",
    `finish[${answers[0]}]`,
    "finish[no idea]",
    `I say the answer is ${answers[0]}.`,
  ]);
};
