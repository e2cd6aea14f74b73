/** `millrace prompt`. */
import { Effect } from "effect";
import { optional, orNull, severalTexts, text } from "../flags.ts";
import { command, load, print } from "./Command.ts";
import { configName, envs, overrides, switchOf } from "./words.ts";

export const prompt = command({
  flags: {
    configName,
    envs,
    tag: orNull(text("tag", "TAG", "A preset of the run file, the first of training's by default.")),
    seed: optional(
      "seed",
      { min: 0, max: 999_999_999, fallback: 0 },
      "Seed of the instance, that of training's first by default.",
    ),
    actions: severalTexts(
      "actions",
      "LIST",
      "Actions of a reply separated by ||; given again, those of the next. By default the environment's solver plays, or chance.",
    ),
    json: switchOf("json", "Print a JSON object for each prompt."),
    overrides,
  },
  work: Effect.fnUntraced(function* ({ configName, envs, overrides, ...options }) {
    const { checkedRun } = yield* load(() => import("../prepareRun.ts"));
    const { config } = yield* checkedRun("train", { configName, envs, overrides, resume: null });
    const { prompt } = yield* load(() => import("../prompt.ts"));
    yield* print(yield* prompt({ ...options, config }));
  }),
});
