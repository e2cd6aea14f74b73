/** `millrace merge`. */
import { Effect } from "effect";
import { orNull, text } from "../flags.ts";
import { command, load, print } from "./Command.ts";
import { argument } from "./words.ts";

export const merge = command({
  flags: {
    adapter: argument("ADAPTER", "A PEFT folder, such as a checkpoint of a run that trains an adapter."),
    output: argument("OUTPUT", "The folder to write; one that holds a model is replaced whole."),
    base: orNull(text("base", "DIR", "Folder of the base model, where it does not lie where the adapter says.")),
  },
  work: Effect.fnUntraced(function* (words) {
    const { merge } = yield* load(() => import("../merge.ts"));
    yield* print(yield* merge(words));
  }),
});
