/** `millrace compare`. */
import { Effect } from "effect";
import { commandOf, load, print } from "./Command.ts";
import { bad, missing, several, switchOf } from "./words.ts";

const info = {
  name: "compare",
  usage: "compare RUN... [--json]",
  meaning: "Compares evaluations, or validations of runs, instance by instance; RUN@STEP is the one after a step.",
};

export const compare = commandOf({
  ...info,
  flags: {
    runs: several("RUN", "An evaluation's or a run's folder, or runs/NAME for its newest; the first is the baseline."),
    json: switchOf("json", "Print the numbers as JSON."),
  },
  read: (words) => (words.runs.length === 0 ? bad(missing(info, "RUN")) : Effect.succeed(words)),
  work: Effect.fnUntraced(function* (words) {
    const { compare } = yield* load(() => import("../compare.ts"));
    yield* print(yield* compare(words));
  }),
});
