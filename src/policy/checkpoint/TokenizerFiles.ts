/**
 * The two JSON files of a tokenizer in a checkpoint folder. They are copied as they are from the checkpoint a run starts from into every
 * checkpoint it writes, so that a trained model is loaded with the same tokenizer.
 */

import { join } from "node:path";
import { Effect } from "effect";
import { replaceText } from "../../files/AtomicWrite.ts";
import { readText } from "../../files/readText.ts";
import { CheckpointError, checkpointError, fromUnknown, ofFile } from "./CheckpointError.ts";

export type JsonObject = { readonly [key: string]: unknown };

export interface TokenizerFiles {
  readonly tokenizerJson: JsonObject;
  readonly tokenizerConfig: JsonObject;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Bytes; tokenizers of large vocabularies have a tenth. */
const LONGEST_JSON = 2 ** 28;

/** The JSON object in the file at `path`. Fails with `CheckpointError` naming the file. */
export const readJsonObject = (path: string): Effect.Effect<JsonObject, CheckpointError> =>
  Effect.gen(function* () {
    const text = yield* Effect.tryPromise({
      try: () => readText(path, LONGEST_JSON),
      catch: (cause) => fromUnknown(path, cause),
    });
    const json: unknown = yield* Effect.try({
      try: () => JSON.parse(text),
      catch: (cause) => checkpointError(path, "bad_config", cause instanceof Error ? cause.message : String(cause)),
    });
    return isJsonObject(json) ? json : yield* checkpointError(path, "bad_config", "not a JSON object");
  });

/** Reads both files of `folder`. Fails with `CheckpointError`. */
export const read = (folder: string): Effect.Effect<TokenizerFiles, CheckpointError> =>
  Effect.all({
    tokenizerJson: readJsonObject(join(folder, "tokenizer.json")).pipe(
      Effect.mapError((error) =>
        error.reason === "missing_file"
          ? new CheckpointError({
              ...error,
              message: `${error.path}: missing; a checkpoint folder needs the fast tokenizer's tokenizer.json (AutoTokenizer(…).save_pretrained writes it)`,
            })
          : error,
      ),
    ),
    tokenizerConfig: readJsonObject(join(folder, "tokenizer_config.json")),
  });

/** Writes both files into `folder`. Fails with `CheckpointError`. */
export const write = (folder: string, files: TokenizerFiles): Effect.Effect<void, CheckpointError> =>
  Effect.andThen(
    replaceText(join(folder, "tokenizer.json"), `${JSON.stringify(files.tokenizerJson, null, 2)}\n`),
    replaceText(join(folder, "tokenizer_config.json"), `${JSON.stringify(files.tokenizerConfig, null, 2)}\n`),
  ).pipe(Effect.mapError(ofFile));
