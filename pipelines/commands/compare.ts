/** `millrace compare`. */
import { Effect } from "effect";
import { commandOf, load, print } from "./Command.ts";
import { bad, missing, several, switchOf } from "./words.ts";

export const compare = commandOf({
  flags: {
    runs: several("RUN", "An evaluation's or a run's folder, or runs/NAME for its newest; the first is the baseline."),
    json: switchOf("json", "Print the numbers as JSON."),
  },
  read: (words, info) => (words.runs.length === 0 ? bad(missing(info, "RUN")) : Effect.succeed(words)),
  work: Effect.fnUntraced(function* (words) {
    const { compare } = yield* load(() => import("../compare.ts"));
    yield* print(yield* compare(words));
  }),
});
