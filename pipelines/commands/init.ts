/** `millrace init`. */
import { Effect } from "effect";
import * as Argument from "effect/cli/Argument";
import { command, load, print } from "./Command.ts";
import { argument } from "./words.ts";

export const init = command({
  flags: {
    folder: argument("FOLDER", "A new or empty folder; the working directory by default.").pipe(
      Argument.withDefault("."),
    ),
  },
  work: Effect.fnUntraced(function* ({ folder }) {
    const { init } = yield* load(() => import("../init.ts"));
    yield* print(yield* init(folder));
  }),
});
