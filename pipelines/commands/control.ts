/** `millrace control`. */
import { Effect } from "effect";
import * as Argument from "effect/cli/Argument";
import { controlIn } from "../controlWords.ts";
import { commandOf, load, print } from "./Command.ts";
import { argument, runDescription } from "./words.ts";

export const control = commandOf({
  flags: { run: argument("RUN", runDescription), words: Argument.variadic(Argument.String("CONTROL")) },
  read: ({ run, words }, info) => Effect.map(controlIn(info, words), (control) => ({ run, control })),
  work: Effect.fnUntraced(function* (words) {
    const { control } = yield* load(() => import("../control.ts"));
    yield* print(yield* control(words));
  }),
});
