/** `millrace sweep`. */
import { Effect } from "effect";
import { limit } from "../flags.ts";
import { commandOf, load } from "./Command.ts";
import { argument, bad, missing, overrides, switchOf } from "./words.ts";

export const sweep = commandOf({
  stopsInOrder: true,
  flags: {
    file: argument("FILE", "A sweep of config/sweeps/, or a path to a sweep file."),
    overrides,
    jobs: limit("jobs", { min: 1, max: 64, fallback: 1 }, "Runs at once, each a process of its own; 1 by default."),
    list: switchOf("list", "Check and list the points, and run nothing."),
  },
  read: (words, info) => (words.file.includes("=") ? bad(missing(info, "FILE")) : Effect.succeed(words)),
  work: Effect.fnUntraced(function* (words) {
    const { sweep } = yield* load(() => import("../sweep.ts"));
    yield* sweep(words);
  }),
});
