/**
 * A version of the weights as a folder that other programs load: a whole model as Hugging Face's, an adapter as PEFT's. A manifest with sizes
 * and SHA-256 stands beside the files. Invariant: the folder appears whole or not at all.
 */
import { join } from "node:path";
import { Effect } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { CheckpointError } from "../../model/checkpoint/CheckpointError.ts";
import { type Checkpoint, writeCheckpoint } from "../../model/checkpoint/HuggingFaceFolder.ts";
import { writeAdapter } from "../../model/checkpoint/PeftFolder.ts";
import { type DecoderConfig, EMBEDDING, OUTPUT, parameters as specsOf } from "../../model/graphs/Architecture.ts";
import { named, type Parameters, parametersOf, tensorOf } from "../../model/graphs/Parameters.ts";
import { trainedParameters } from "../../model/graphs/Trained.ts";
import { replaceFolder } from "../../support/files/AtomicWrite.ts";
import type { FileError } from "../../support/files/FileError.ts";
import * as Manifest from "../../support/files/Manifest.ts";

/** What a version's folder holds beside its weights. */
export interface ModelFiles extends Omit<Checkpoint, "parameters" | "format" | "adapter"> {
  /** The base model as an adapter names it; empty where all weights are trained. */
  readonly base: string;
}

/**
 * How a whole model is written. `untied`: with its output matrix as a tensor of its own, also where the model shares it with the embedding: an
 * engine that loads weights in place may keep the matrix it packed at its start.
 */
export type Layout = "as_trained" | "untied";

export const folderOf = (directory: string, version: Version): string => join(directory, `v${version}`);

/** The same model with an output matrix of its own. */
export const untied = (
  config: DecoderConfig,
  tied: Parameters<ArrayBufferLike>,
): Pick<Checkpoint, "config" | "parameters"> => {
  const apart: DecoderConfig = { ...config, tieEmbedding: false };
  const made = parametersOf(specsOf(apart));
  for (const { name, values } of named(made)) {
    const source = tensorOf(tied, name === OUTPUT ? EMBEDDING : name);
    if (source === undefined) throw new RangeError(`no parameter "${name}" to write`);
    values.set(source);
  }
  return { config: apart, parameters: made };
};

const fill = (
  folder: string,
  { base, ...files }: ModelFiles,
  flat: Float32Array<ArrayBuffer>,
  layout: Layout,
): Effect.Effect<void, CheckpointError> => {
  const { config } = files;
  const { adapter } = config;
  const parameters = parametersOf(trainedParameters(config), flat);
  if (adapter !== undefined) return writeAdapter(folder, { adapter, base, parameters });
  const model = layout === "untied" && config.tieEmbedding ? untied(config, parameters) : { config, parameters };
  return writeCheckpoint(folder, { ...files, ...model, format: "F32" });
};

/** Writes the version's folder inside `directory`; `flat` holds every trained parameter in specification order. Fails on disk errors. */
export const writeVersion = (
  directory: string,
  version: Version,
  files: ModelFiles,
  flat: Float32Array<ArrayBuffer>,
  layout: Layout,
): Effect.Effect<void, CheckpointError | FileError> =>
  replaceFolder(folderOf(directory, version), (partial) =>
    Effect.andThen(fill(partial, files, flat, layout), Manifest.seal(partial)),
  );
