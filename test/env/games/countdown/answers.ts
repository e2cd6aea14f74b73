/** Answers of a player without a model: a right one, the numbers wrongly joined, arithmetic of other numbers, or words. */

import { Schema } from "effect";
import { Countdown, type CountdownState } from "../../../../src/env/games/countdown/Countdown.ts";
import { CountdownConfig } from "../../../../src/env/games/countdown/CountdownConfig.ts";
import type { Act } from "../../contract/players.ts";

const config = Schema.decodeUnknownSync(CountdownConfig)({});

export const answer: Act = (state, random) => {
  const { numbers, ...rest } = state as CountdownState;
  const right = Countdown.solve!(config, { numbers, ...rest })?.[0] ?? "0";
  const joined = random.shuffle(numbers).join(random.pick([" + ", " - ", " * ", " / "]));
  return random.pick([right, `${right} = ${rest.target}`, joined, `${joined} + 1`, "I give up", ""]);
};
