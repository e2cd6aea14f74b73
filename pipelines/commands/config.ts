/** `millrace config`. */
import { Effect } from "effect";
import { command, load } from "./Command.ts";
import { configName, envs, overrides } from "./words.ts";

export const config = command({
  flags: { configName, envs, overrides },
  work: Effect.fnUntraced(function* (words) {
    const { config } = yield* load(() => import("../config.ts"));
    yield* config(words);
  }),
});
