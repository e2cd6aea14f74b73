/**
 * `millrace untie` copies a model that shares its output matrix with the embedding, and gives the copy its own output
 * matrix of the same numbers. Servers that pack the matrix at their start need it. The output appears whole or not at
 * all.
 */
import { resolve } from "node:path";
import { Effect } from "effect";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { readCheckpoint, writeCheckpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Model from "../src/model/Model.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import { untieEmbedding } from "../src/remote/weights/VersionFolder.ts";
import { replaceFolder } from "../src/support/files/AtomicWrite.ts";
import { namedModel } from "./namedRun.ts";

export interface UntieOptions {
  readonly model: string;
  readonly output: string;
}

const unusable = ({ message }: { readonly message: string }) => Effect.fail(new BadInput({ message }));

/** Writes the untied model; returns lines that report it. */
export const untie = Effect.fnUntraced(function* (options: UntieOptions) {
  const folder = yield* namedModel("MODEL", options.model);
  const output = resolve(options.output);
  yield* RunFolder.makeParent(output);
  yield* Model.checkReplaceable("OUTPUT", output);
  const checkpoint = yield* Effect.catchTag(readCheckpoint(folder), "CheckpointError", unusable);
  if (!checkpoint.config.tieEmbedding) {
    const message = `MODEL: ${showValue(options.model)}: it has an output matrix of its own already; serve it as it is`;
    return yield* new BadInput({ message });
  }
  const apart = untieEmbedding(checkpoint.config, checkpoint.parameters);
  yield* replaceFolder(output, (partial) => writeCheckpoint(partial, { ...checkpoint, ...apart })).pipe(
    Effect.catchTag(["CheckpointError", "FileError"], unusable),
  );
  return [`wrote ${output}: ${folder} with an output matrix of its own`];
});
