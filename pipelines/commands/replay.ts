/** `millrace replay`. */
import { Effect } from "effect";
import { optional, severalTexts } from "../flags.ts";
import { commandOf, load, print } from "./Command.ts";
import { argument, runDescription } from "./words.ts";

const steps = { min: 1, max: 1_000_000_000, fallback: 1 };

export const replay = commandOf({
  flags: {
    run: argument("RUN", runDescription),
    from: optional(
      "from",
      steps,
      "Begin with the recorded checkpoint of this step, and not with the start of the run.",
    ),
    until: optional("until", steps, "Last step to replay; the last one of the run by default."),
    changes: severalTexts(
      "with",
      "KEY=VALUE",
      "Make the last update once more under this setting, from the same state; it may be given more than once.",
    ),
  },
  read: (words) => Effect.succeed(words),
  work: Effect.fnUntraced(function* (words) {
    const { replay } = yield* load(() => import("../replay.ts"));
    yield* print(yield* replay(words));
  }),
});
