/** `millrace leaderboard`. */
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { text } from "../flags.ts";
import { commandOf, load, print } from "./Command.ts";
import { bad, missing, several } from "./words.ts";

export const leaderboard = commandOf({
  flags: {
    folders: several("DIR", "A folder in which evaluations lie, such as runs."),
    output: text("output", "FILE", "Where the page is written, leaderboard.html by default.").pipe(
      Flag.withDefault("leaderboard.html"),
    ),
    title: text("title", "TEXT", "Title of the page, Leaderboard by default.").pipe(Flag.withDefault("Leaderboard")),
  },
  read: (words, info) => (words.folders.length === 0 ? bad(missing(info, "DIR")) : Effect.succeed(words)),
  work: Effect.fnUntraced(function* (words) {
    const { leaderboard } = yield* load(() => import("../leaderboard.ts"));
    yield* print(yield* leaderboard(words));
  }),
});
