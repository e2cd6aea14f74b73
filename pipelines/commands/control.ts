/** `millrace control`. */
import { Effect } from "effect";
import * as Argument from "effect/cli/Argument";
import { controlIn } from "../controlWords.ts";
import { commandOf, load, print } from "./Command.ts";
import { argument, runDescription } from "./words.ts";

const info = {
  name: "control",
  usage: "control RUN (concurrency STAGE N | pause | resume | validate | checkpoint | stop)",
  meaning: "Changes how a running run goes on.",
};

export const control = commandOf({
  ...info,
  flags: { run: argument("RUN", runDescription), words: Argument.variadic(Argument.String("CONTROL")) },
  read: ({ run, words }) => Effect.map(controlIn(info, words), (control) => ({ run, control })),
  work: Effect.fnUntraced(function* (words) {
    const { control } = yield* load(() => import("../control.ts"));
    yield* print(yield* control(words));
  }),
});
