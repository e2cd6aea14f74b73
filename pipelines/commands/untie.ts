/** `millrace untie`. */
import { Effect } from "effect";
import { command, load, print } from "./Command.ts";
import { argument } from "./words.ts";

export const untie = command({
  flags: {
    model: argument("MODEL", "A folder of a model, or its name in the package."),
    output: argument("OUTPUT", "The folder to write; one that holds a model is replaced whole."),
  },
  work: Effect.fnUntraced(function* (words) {
    const { untie } = yield* load(() => import("../untie.ts"));
    yield* print(yield* untie(words));
  }),
});
