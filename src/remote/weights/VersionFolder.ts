/**
 * Writes a version of the weights as a folder that other programs load: a whole model in Hugging Face's form, an adapter in PEFT's, with a
 * manifest of sizes and SHA-256. Invariant: the folder appears whole or not at all.
 */
import { join } from "node:path";
import { Effect } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { CheckpointError } from "../../model/checkpoint/CheckpointError.ts";
import { type Checkpoint, writeCheckpoint } from "../../model/checkpoint/HuggingFaceFolder.ts";
import { writeAdapter } from "../../model/checkpoint/PeftFolder.ts";
import { type DecoderConfig, EMBEDDING, OUTPUT, parameters as specsOf } from "../../model/graphs/Architecture.ts";
import { namedTensors, type Parameters, parametersOf, tensorOf } from "../../model/graphs/Parameters.ts";
import { trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import { replaceFolder } from "../../support/files/AtomicWrite.ts";
import type { FileError } from "../../support/files/FileError.ts";
import * as Manifest from "../../support/files/Manifest.ts";

/** The files of a version's folder beside its weights. */
export interface ModelFiles extends Omit<Checkpoint, "parameters" | "format" | "adapter"> {
  /** Name of an adapter's base model; empty if all weights are trained. */
  readonly base: string;
}

/**
 * Form of a whole model. `untied` writes the output matrix as a tensor of its own even if the model shares it with the embedding: an engine
 * that loads weights in place may keep the matrix that it packed at its start.
 */
export type ModelLayout = "as_trained" | "untied";

export const versionFolder = (directory: string, version: Version): string => join(directory, `v${version}`);

/** Copies a model and gives it an output matrix of its own. */
export const untieEmbedding = (
  config: DecoderConfig,
  tied: Parameters<ArrayBufferLike>,
): Pick<Checkpoint, "config" | "parameters"> => {
  const untiedConfig: DecoderConfig = { ...config, tieEmbedding: false };
  const parameters = parametersOf(specsOf(untiedConfig));
  for (const { name, values } of namedTensors(parameters)) {
    const source = tensorOf(tied, name === OUTPUT ? EMBEDDING : name);
    if (source === undefined) throw new RangeError(`no parameter "${name}" to write`);
    values.set(source);
  }
  return { config: untiedConfig, parameters };
};

const writeModel = (
  folder: string,
  { base, ...files }: ModelFiles,
  flat: Float32Array<ArrayBuffer>,
  layout: ModelLayout,
): Effect.Effect<void, CheckpointError> => {
  const { config } = files;
  const { adapter } = config;
  const parameters = parametersOf(trainedParameters(config), flat);
  if (adapter !== undefined) return writeAdapter(folder, { adapter, base, parameters });
  const model =
    layout === "untied" && config.tieEmbedding ? untieEmbedding(config, parameters) : { config, parameters };
  return writeCheckpoint(folder, { ...files, ...model, format: "F32" });
};

/** Writes the version's folder inside `directory`. `flat` holds every trained parameter in specification order. Fails on disk errors. */
export const writeVersion = (
  directory: string,
  version: Version,
  files: ModelFiles,
  flat: Float32Array<ArrayBuffer>,
  layout: ModelLayout,
): Effect.Effect<void, CheckpointError | FileError> =>
  replaceFolder(versionFolder(directory, version), (partial) =>
    Effect.andThen(writeModel(partial, files, flat, layout), Manifest.seal(partial)),
  );
