/** `millrace config`. */
import { Effect } from "effect";
import { command, load } from "./Command.ts";
import { configName, envs, overrides } from "./words.ts";

export const config = command({
  name: "config",
  usage: "config --config-name NAME [--envs FILE] [key.sub=value ...]",
  meaning: "Prints the run file as it is resolved, and what of RAGEN's keys is set aside; runs nothing.",
  flags: { configName, envs, overrides },
  work: Effect.fnUntraced(function* (words) {
    const { config } = yield* load(() => import("../config.ts"));
    yield* config(words);
  }),
});
