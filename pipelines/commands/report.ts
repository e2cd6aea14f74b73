/** `millrace report`. */
import { Effect } from "effect";
import { orNull, text } from "../flags.ts";
import { commandOf, load, print } from "./Command.ts";
import { bad, missing, runDescription, several } from "./words.ts";

export const report = commandOf({
  flags: {
    runs: several("RUN", runDescription),
    output: orNull(
      text("output", "FILE", "Where the report is written; report-NAME-TIME.html after the first run by default."),
    ),
  },
  read: (words, info) => (words.runs.length === 0 ? bad(missing(info, "RUN")) : Effect.succeed(words)),
  work: Effect.fnUntraced(function* (words) {
    const { report } = yield* load(() => import("../report.ts"));
    yield* print(yield* report(words));
  }),
});
