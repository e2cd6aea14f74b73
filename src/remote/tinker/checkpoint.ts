/**
 * The checkpoint of a run that a Tinker server trains: the names of its weights and optimiser on the server, and our counters. The folder
 * also has the tokenizer, and no weights. Invariant: a run continues only with the server, model and adapter of its checkpoint.
 */
import { join } from "node:path";
import { Effect, Schema } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { Count } from "../../domain/Count.ts";
import type { TrainerState } from "../../learner/TrainerState.ts";
import { type CheckpointError, checkpointError, fromFileError } from "../../model/checkpoint/CheckpointError.ts";
import { SERVER_FILE } from "../../model/checkpoint/HuggingFaceFolder.ts";
import { readJsonObject } from "../../model/checkpoint/TokenizerFiles.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";

const SCHEMA = 1;

const Text = Schema.NonEmptyString.check(Schema.isMaxLength(4_096));

const Saved = Schema.Struct({
  schema: Schema.Literal(SCHEMA),
  server: Text,
  base_model: Text,
  rank: Count,
  /** The server's names of the saved policy and critic, each with its optimiser. */
  weights: Text,
  critic: Schema.NullOr(Text),
  version: Count,
  windows: Count,
  actorUpdates: Count,
  criticUpdates: Count,
  klCoefficient: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
});
export type TinkerCheckpoint = typeof Saved.Type;

/** The base model that a run file names at its server. */
export const baseModelOf = ({ model }: RunConfig): string =>
  model.learner.base_model === "" ? model.path : model.learner.base_model;

export const writeCheckpoint = (
  folder: string,
  config: RunConfig,
  state: TrainerState,
  { critic, weights }: Pick<TinkerCheckpoint, "critic" | "weights">,
): Effect.Effect<void, CheckpointError> => {
  const { lora, url } = config.model.learner;
  const saved: TinkerCheckpoint = {
    schema: SCHEMA,
    server: url,
    base_model: baseModelOf(config),
    rank: lora.rank,
    weights,
    critic,
    ...state,
  };
  return Effect.mapError(replaceText(join(folder, SERVER_FILE), `${JSON.stringify(saved, null, 2)}\n`), fromFileError);
};

const findDifference = (config: RunConfig, saved: TinkerCheckpoint): string | undefined => {
  const pairs = [
    ["base_model", baseModelOf(config), saved.base_model],
    ["lora.rank", config.model.learner.lora.rank, saved.rank],
  ] as const;
  const other = pairs.find(([, configured, saved]) => configured !== saved);
  if (other === undefined) return undefined;
  const [key, configured, trained] = other;
  return `model.learner.${key} is ${configured}, and the run trains ${trained}; nearest: ${trained}`;
};

/** Reads a checkpoint. Fails with `CheckpointError` if the folder has none, or one of another model. */
export const readCheckpoint = Effect.fnUntraced(function* (
  folder: string,
  config: RunConfig,
): Effect.fn.Return<TinkerCheckpoint, CheckpointError> {
  const path = join(folder, SERVER_FILE);
  const value = yield* readJsonObject(path);
  if (value.schema !== SCHEMA) {
    const schema = JSON.stringify(value.schema)?.slice(0, 60);
    return yield* checkpointError(path, "unsupported", `its schema is ${schema}; this version reads ${SCHEMA}`);
  }
  const saved = yield* Schema.decodeUnknownEffect(Saved)(value).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message.replaceAll(/\s*\n\s*/g, " "))),
  );
  const other = findDifference(config, saved);
  if (other !== undefined) return yield* checkpointError(path, "bad_config", other);
  return saved;
});

export const trainerState = ({
  actorUpdates,
  criticUpdates,
  klCoefficient,
  version,
  windows,
}: TinkerCheckpoint): TrainerState => ({
  version,
  windows,
  actorUpdates,
  criticUpdates,
  ...(klCoefficient === undefined ? {} : { klCoefficient }),
});
