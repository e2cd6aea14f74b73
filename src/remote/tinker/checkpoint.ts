/**
 * The checkpoint of a run that a Tinker server trains: where its weights and optimiser lie on the server, and the counters of ours that they go with. The
 * folder has the tokenizer beside it, and no weights. Invariant: what is written goes on only at the server, model and adapter that it is of.
 */
import { join } from "node:path";
import { Effect, Schema } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { Count } from "../../domain/Count.ts";
import type { TrainerState } from "../../learner/TrainerState.ts";
import { type CheckpointError, checkpointError, ofFile } from "../../model/checkpoint/CheckpointError.ts";
import { SERVED } from "../../model/checkpoint/HuggingFaceFolder.ts";
import { readJsonObject } from "../../model/checkpoint/TokenizerFiles.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";

const SCHEMA = 1;

const Text = Schema.NonEmptyString.check(Schema.isMaxLength(4_096));

const Saved = Schema.Struct({
  schema: Schema.Literal(SCHEMA),
  /** Address of the server. */
  server: Text,
  base_model: Text,
  rank: Count,
  /** The weights and the optimiser of the policy, and of the critic, by the server's names. */
  weights: Text,
  critic: Schema.NullOr(Text),
  version: Count,
  windows: Count,
  actorUpdates: Count,
  criticUpdates: Count,
  klCoefficient: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
});
export type Saved = typeof Saved.Type;

/** The model that a run file names at its server. */
export const baseModelOf = ({ model }: RunConfig): string =>
  model.learner.base_model === "" ? model.path : model.learner.base_model;

export const write = (
  folder: string,
  config: RunConfig,
  state: TrainerState,
  { critic, weights }: Pick<Saved, "critic" | "weights">,
): Effect.Effect<void, CheckpointError> => {
  const { lora, url } = config.model.learner;
  const saved: Saved = {
    schema: SCHEMA,
    server: url,
    base_model: baseModelOf(config),
    rank: lora.rank,
    weights,
    critic,
    ...state,
  };
  return Effect.mapError(replaceText(join(folder, SERVED), `${JSON.stringify(saved, null, 2)}\n`), ofFile);
};

const difference = (config: RunConfig, saved: Saved): string | undefined => {
  const pairs = [
    ["base_model", baseModelOf(config), saved.base_model],
    ["lora.rank", config.model.learner.lora.rank, saved.rank],
  ] as const;
  const other = pairs.find(([, asked, there]) => asked !== there);
  if (other === undefined) return undefined;
  const [key, asked, there] = other;
  return `model.learner.${key} is ${asked}, and the run trains ${there}; nearest: ${there}`;
};

/** Fails with `CheckpointError` where the folder is none of such a run's, or of another model. */
export const read = Effect.fnUntraced(function* (
  folder: string,
  config: RunConfig,
): Effect.fn.Return<Saved, CheckpointError> {
  const path = join(folder, SERVED);
  const value = yield* readJsonObject(path);
  if (value.schema !== SCHEMA) {
    const schema = JSON.stringify(value.schema)?.slice(0, 60);
    return yield* checkpointError(path, "unsupported", `its schema is ${schema}; this version reads ${SCHEMA}`);
  }
  const saved = yield* Schema.decodeUnknownEffect(Saved)(value).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message.replaceAll(/\s*\n\s*/g, " "))),
  );
  const other = difference(config, saved);
  if (other !== undefined) return yield* checkpointError(path, "bad_config", other);
  return saved;
});

export const stateOf = ({ actorUpdates, criticUpdates, klCoefficient, version, windows }: Saved): TrainerState => ({
  version,
  windows,
  actorUpdates,
  criticUpdates,
  ...(klCoefficient === undefined ? {} : { klCoefficient }),
});
