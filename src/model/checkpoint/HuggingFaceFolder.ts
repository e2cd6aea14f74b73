/**
 * A model as a Hugging Face folder that transformers can load: config.json, the weights in one file or in shards, and the tokenizer.
 * Invariant: a folder that is read and written again has the same config, tensors, names and tokenizer.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import { OUTPUT, parameters as specsOf } from "../graphs/Architecture.ts";
import { type Parameters, parametersOf, sharedParameters } from "../graphs/Parameters.ts";
import { type CheckpointError, checkpointError, fromFileError } from "./CheckpointError.ts";
import type { FloatFormat } from "./FloatFormat.ts";
import { decodeConfig, decodeEos, encodeConfig, encodeGenerationConfig, type ModelConfig } from "./ModelConfig.ts";
import { type Allocate, type ParameterFile, readParametersInto, writeParameters } from "./ParameterFile.ts";
import { readShardsInto } from "./ShardedFile.ts";
import {
  readJsonObject,
  read as readTokenizerFiles,
  type TokenizerFiles,
  templateFiles,
  write as writeTokenizerFiles,
} from "./TokenizerFiles.ts";

/** The numbers of the adapter that `config.adapter` describes. */
export interface CheckpointAdapter {
  readonly parameters: Parameters;
  /** The base model as PEFT names it: a path, or a name of the hub. */
  readonly base: string;
}

export interface Checkpoint extends ModelConfig {
  /** All weights of the model; with an adapter those that stay as they are, in memory that threads may share. */
  readonly parameters: Parameters<ArrayBufferLike>;
  /** Present where `config.adapter` is. */
  readonly adapter?: CheckpointAdapter | undefined;
  /** The number format of the file; parameters are float32 in memory. */
  readonly format: FloatFormat;
  readonly tokenizer: TokenizerFiles;
}

/** Memory for weights: the thread's own, or memory that all threads of the process share. */
export type Memory = "own" | "shared";

/** Names of the files a folder written here holds, of a model or of an adapter. */
export const modelFiles: readonly string[] = [
  "adapter_config.json",
  "adapter_model.safetensors",
  "config.json",
  "generation_config.json",
  "model.safetensors",
  "tokenizer.json",
  "tokenizer_config.json",
  ...templateFiles,
];

const exists = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(path).then(
      () => true,
      () => false,
    ),
  );

const WEIGHTS = "model.safetensors";
const INDEX = "model.safetensors.index.json";

const ADAPTER = "adapter_model.safetensors";
/** This file stands in place of weights that a training server keeps, and names them. */
export const SERVER_FILE = "tinker.json";
const serverAdvice =
  "its weights are on the training server that this file names; the run goes on with train --resume, and its validations play them there";
const adapterAdvice =
  "it holds an adapter; name its base model as model.path and this folder as model.adapter, or merge it first: millrace merge";

/** Layouts of weights that are not safetensors of the whole model, and what to do about them. */
const otherLayouts = [
  ["pytorch_model.bin", "the weights are pickled; save them as safetensors (safe_serialization)"],
  ["pytorch_model.bin.index.json", "the weights are pickled; save them as safetensors (safe_serialization)"],
  [ADAPTER, adapterAdvice],
] as const;

/** Reads a folder's weights into memory that `allocate` makes, from one file if there is one, as transformers chooses. */
const readWeightsInto = Effect.fnUntraced(function* <B extends ArrayBufferLike>(
  folder: string,
  { config }: ModelConfig,
  allocate: Allocate<B>,
): Effect.fn.Return<ParameterFile<B>, CheckpointError> {
  const specs = specsOf(config);
  // Some writers store the tied output matrix a second time; it equals the embedding.
  const options = { ignored: config.tieEmbedding ? [OUTPUT] : [] };
  if (yield* exists(join(folder, WEIGHTS)))
    return yield* readParametersInto(join(folder, WEIGHTS), specs, allocate, options);
  if (yield* exists(join(folder, INDEX))) return yield* readShardsInto(join(folder, INDEX), specs, allocate, options);
  for (const [file, advice] of otherLayouts) {
    if (yield* exists(join(folder, file))) return yield* checkpointError(join(folder, file), "unsupported", advice);
  }
  return yield* checkpointError(join(folder, WEIGHTS), "missing_file", "no such file or folder");
});

/** The weights of a folder. Fails with `CheckpointError`. */
export const readWeights = (folder: string, model: ModelConfig): Effect.Effect<ParameterFile, CheckpointError> =>
  readWeightsInto(folder, model, parametersOf);

/** The folder's decoder and token ids without its weights: where it cannot be trained, this is what says so. Fails with `CheckpointError`. */
export const readModelConfig = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<ModelConfig, CheckpointError> {
  const path = join(folder, "config.json");
  if (!(yield* exists(folder))) return yield* checkpointError(folder, "missing_file", "no such folder");
  if (yield* exists(join(folder, SERVER_FILE))) {
    return yield* checkpointError(join(folder, SERVER_FILE), "unsupported", serverAdvice);
  }
  if (!(yield* exists(path)) && (yield* exists(join(folder, ADAPTER)))) {
    return yield* checkpointError(join(folder, ADAPTER), "unsupported", adapterAdvice);
  }
  const model = yield* decodeConfig(yield* readJsonObject(path), path);
  // The end tokens of generation_config.json take precedence: instruction models add theirs only there.
  const generation = join(folder, "generation_config.json");
  const eos = (yield* exists(generation)) ? yield* decodeEos(yield* readJsonObject(generation), generation) : [];
  return eos.length === 0 ? model : { ...model, tokens: { ...model.tokens, eos } };
});

/** Reads the whole folder. Fails with `CheckpointError` naming the file, tensor or key and what is supported. */
export const readCheckpoint = Effect.fn("HuggingFaceFolder.readCheckpoint")(function* (
  folder: string,
  memory: Memory = "own",
): Effect.fn.Return<Checkpoint, CheckpointError> {
  const model = yield* readModelConfig(folder);
  const tokenizer = yield* readTokenizerFiles(folder);
  const allocate: Allocate<ArrayBufferLike> = memory === "shared" ? sharedParameters : parametersOf;
  const weights = yield* readWeightsInto(folder, model, allocate);
  return { ...model, ...weights, tokenizer };
});

/**
 * Writes the folder's files, each under another name first and renamed. For a folder that appears whole or not at all, call it inside
 * `AtomicWrite.replaceFolder`. Fails with `CheckpointError`.
 */
export const writeCheckpoint = Effect.fn("HuggingFaceFolder.writeCheckpoint")(function* (
  folder: string,
  { parameters, format, tokenizer, ...model }: Checkpoint,
): Effect.fn.Return<void, CheckpointError> {
  const text = (contents: object) => `${JSON.stringify(contents, null, 2)}\n`;
  yield* writeParameters(join(folder, WEIGHTS), parameters, { format });
  yield* writeTokenizerFiles(folder, tokenizer);
  yield* Effect.all(
    [
      replaceText(join(folder, "generation_config.json"), text(encodeGenerationConfig(model.tokens))),
      replaceText(join(folder, "config.json"), text(encodeConfig(model, format))),
    ],
    { discard: true },
  ).pipe(Effect.mapError(fromFileError));
});
