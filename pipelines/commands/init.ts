/** `millrace init`. */
import { Effect } from "effect";
import * as Argument from "effect/cli/Argument";
import { command, load, print } from "./Command.ts";
import { argument } from "./words.ts";

export const init = command({
  name: "init",
  usage: "init [FOLDER]",
  meaning: "Writes a small project to start from: an environment, a run file that trains on it, and a test.",
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
