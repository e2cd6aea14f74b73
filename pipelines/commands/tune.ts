/** `millrace tune`. */
import { Effect } from "effect";
import { limit, optional, orNull, text } from "../flags.ts";
import { command, load } from "./Command.ts";
import { prepared } from "./runCommands.ts";
import { configName, overrides } from "./words.ts";

export const tune = command({
  stopsInOrder: true,
  flags: {
    configName,
    overrides,
    budgetMinutes: limit("budget", { min: 1, max: 1_440, fallback: 10 }, "Minutes to take, 10 by default."),
    maxStaleness: optional(
      "max-staleness",
      { min: 1, max: 64, fallback: 4 },
      "Let pipeline.max_staleness be chosen, up to this; by default it stays as it is.",
    ),
    output: orNull(text("output", "FILE", "Run file to write, NAME.tuned.yaml in the working directory by default.")),
  },
  work: Effect.fnUntraced(function* ({ configName: name, overrides, ...options }) {
    const { config } = yield* prepared("train", { configName: name, envs: null, overrides, resume: null });
    const { tune } = yield* load(() => import("../tune.ts"));
    yield* tune({ ...options, config, name, overrides });
  }),
});
