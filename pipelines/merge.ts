/**
 * `millrace merge`: adds an adapter to the model that it stands beside and writes the folder of the whole model, float32, so that nothing of the
 * sum is lost. The output appears whole or not at all.
 */
import { resolve } from "node:path";
import { Effect } from "effect";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { writeCheckpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { isAdapter } from "../src/model/checkpoint/PeftFolder.ts";
import * as Model from "../src/model/Model.ts";
import { mergeAdapter } from "../src/model/mergeAdapter.ts";
import * as StartingModel from "../src/model/StartingModel.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import { replaceFolder } from "../src/support/files/AtomicWrite.ts";
import { namedModel } from "./namedRun.ts";

export interface MergeOptions {
  readonly adapter: string;
  readonly output: string;
  /** Folder of the base model; null takes the one that the adapter names. */
  readonly base: string | null;
}

const unusable = ({ message }: { readonly message: string }) => Effect.fail(new BadInput({ message }));

/** Writes the merged model; returns lines that report it. */
export const merge = Effect.fnUntraced(function* (options: MergeOptions) {
  const folder = yield* namedModel("ADAPTER", options.adapter);
  if (!(yield* isAdapter(folder))) {
    return yield* new BadInput({ message: `ADAPTER: ${showValue(options.adapter)}: it has no adapter_config.json` });
  }
  const output = resolve(options.output);
  yield* RunFolder.makeParent(output);
  yield* Model.checkReplaceable("OUTPUT", output);
  const base = options.base === null ? null : yield* namedModel("--base", options.base);
  const { checkpoint } = yield* StartingModel.loadAdapter(folder, base, "--base names it");
  const { adapter, config, parameters } = checkpoint;
  if (adapter === undefined || config.adapter === undefined) return yield* Effect.die("an adapter's model has one");
  const { adapter: description, ...sizes } = config;
  const whole = yield* Effect.promise(() => mergeAdapter(parameters, description, adapter.parameters));
  const { adapter: _, ...rest } = checkpoint;
  yield* replaceFolder(output, (partial) =>
    writeCheckpoint(partial, { ...rest, config: sizes, parameters: whole, format: "F32" }),
  ).pipe(Effect.catchTag(["CheckpointError", "FileError"], unusable));
  return [`wrote ${output}: ${adapter.base} with ${folder} of rank ${description.rank}`];
});
