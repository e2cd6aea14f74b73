/** `millrace sft`. */
import { Effect } from "effect";
import { commandOf, load } from "./Command.ts";
import { prepared, readRun, runFlags } from "./runCommands.ts";

export const sft = commandOf({
  stopsInOrder: true,
  flags: runFlags("Go on from the newest checkpoint of a cloning run, under its configuration and the overrides."),
  read: (flags) => readRun("sft", flags),
  work: Effect.fnUntraced(function* (words) {
    const run = yield* prepared("sft", words);
    const { sft } = yield* load(() => import("../sft.ts"));
    yield* sft(run);
  }),
});
