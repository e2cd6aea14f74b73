/**
 * The learner's part of a checkpoint folder beside the Hugging Face model: critic.safetensors, the moments of both optimisers in
 * optimiser.safetensors and the counters in learner.json. Written into an existing folder, which the caller renames when whole.
 * Invariant: everything is float32, so a trainer restored from the folder goes on bit for bit.
 */
import { join } from "node:path";
import { Effect, Schema } from "effect";
import { replaceText } from "../files/AtomicWrite.ts";
import { type CheckpointError, checkpointError, ofFile } from "../policy/checkpoint/CheckpointError.ts";
import { type Checkpoint, writeCheckpoint } from "../policy/checkpoint/HuggingFaceFolder.ts";
import { readParameters, writeParameters } from "../policy/checkpoint/ParameterFile.ts";
import { read, type Tensor, write } from "../policy/checkpoint/Safetensors.ts";
import { readJsonObject } from "../policy/checkpoint/TokenizerFiles.ts";
import { criticParameters, type ParameterSpec, parameters, type Qwen2Config } from "../policy/model/Architecture.ts";
import type { Moments } from "./Network.ts";
import type { Restored, TrainedNetwork, TrainerState } from "./Trainer.ts";

const MODEL = "model.safetensors";
const CRITIC = "critic.safetensors";
const OPTIMISER = "optimiser.safetensors";
const STATE = "learner.json";

/** The layout of the folder that is written and read. Raised whenever a reader of the earlier one would misread it. */
const SCHEMA = 2;

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));

const Counters = Schema.Struct({
  schema: Schema.Literal(SCHEMA),
  version: Count,
  windows: Count,
  actorUpdates: Count,
  criticUpdates: Count,
  /** Optimiser steps of the actor, and of the critic (null without one). */
  actorSteps: Count,
  criticSteps: Schema.NullOr(Count),
});

type Role = "actor" | "critic";

const momentTensors = (role: Role, { first, second }: Moments): readonly (readonly [string, Tensor])[] => [
  [`${role}.first`, { shape: [first.length], data: first }],
  [`${role}.second`, { shape: [second.length], data: second }],
];

/** A model's description beside its weights: what `writeCheckpoint` needs to make the folder loadable. */
export type ModelFiles = Omit<Checkpoint, "parameters" | "format">;

/** Fails with `CheckpointError` on disk errors. */
export const saveTrainer = Effect.fnUntraced(function* (
  folder: string,
  model: ModelFiles,
  state: TrainerState,
  actor: TrainedNetwork,
  critic: TrainedNetwork | undefined,
): Effect.fn.Return<void, CheckpointError> {
  yield* writeCheckpoint(folder, { ...model, parameters: actor.parameters, format: "F32" });
  if (critic !== undefined) yield* writeParameters(join(folder, CRITIC), critic.parameters);
  const moments = [
    ...momentTensors("actor", actor.moments),
    ...(critic === undefined ? [] : momentTensors("critic", critic.moments)),
  ];
  yield* write(join(folder, OPTIMISER), new Map(moments));
  const counters: typeof Counters.Type = {
    schema: SCHEMA,
    ...state,
    actorSteps: actor.moments.steps,
    criticSteps: critic?.moments.steps ?? null,
  };
  yield* replaceText(join(folder, STATE), `${JSON.stringify(counters, null, 2)}\n`).pipe(Effect.mapError(ofFile));
});

const firstNegative = (values: Float32Array): number => {
  for (let i = 0; i < values.length; i++) if (values[i]! < 0) return i;
  return -1;
};

const readMoments = (
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  role: Role,
  size: number,
  steps: number,
): Effect.Effect<Moments, CheckpointError> => {
  const [first, second] = [tensors.get(`${role}.first`)?.data, tensors.get(`${role}.second`)?.data];
  if (first === undefined || second === undefined)
    return Effect.fail(checkpointError(path, "missing_tensor", `it lacks the moments of the ${role}`));
  if (first.length !== size || second.length !== size) {
    const detail = `the moments of the ${role} have ${first.length} values, its parameters ${size}`;
    return Effect.fail(checkpointError(path, "wrong_shape", detail));
  }
  const negative = firstNegative(second);
  if (negative !== -1) {
    const detail = `tensor "${role}.second" holds ${second[negative]} at index ${negative}; a mean of squares is never negative`;
    return Effect.fail(checkpointError(path, "not_finite", detail));
  }
  return Effect.succeed({ first: Float32Array.from(first), second: Float32Array.from(second), steps });
};

/** What is wrong with a folder of another schema. */
const otherSchema = (schema: unknown): string => {
  const readable = `this version reads schema ${SCHEMA}`;
  if (schema === undefined) return `it has no "schema", so an early millrace 0.1.0 wrote it; ${readable}`;
  return `its schema is ${JSON.stringify(schema)}; ${readable}`;
};

/** What `saveTrainer` wrote, its critic of the sizes `valued`. Fails with `CheckpointError` naming the file and what is wrong with it. */
export const restoreTrainer = Effect.fnUntraced(function* (
  folder: string,
  config: Qwen2Config,
  valued: Qwen2Config = config,
): Effect.fn.Return<Restored, CheckpointError> {
  const path = join(folder, STATE);
  const json = yield* readJsonObject(path);
  if (json.schema !== SCHEMA) return yield* checkpointError(path, "unsupported", otherSchema(json.schema));
  const {
    actorSteps,
    criticSteps,
    schema: _,
    ...state
  } = yield* Schema.decodeUnknownEffect(Counters)(json).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message)),
  );
  const { tensors } = yield* read(join(folder, OPTIMISER));
  const network = Effect.fnUntraced(function* (
    role: Role,
    file: string,
    specs: readonly ParameterSpec[],
    steps: number,
  ): Effect.fn.Return<TrainedNetwork, CheckpointError> {
    const { parameters: read } = yield* readParameters(join(folder, file), specs);
    const moments = yield* readMoments(join(folder, OPTIMISER), tensors, role, read.flat.length, steps);
    return { parameters: read, moments };
  });
  return {
    state,
    actor: yield* network("actor", MODEL, parameters(config), actorSteps),
    critic: criticSteps === null ? undefined : yield* network("critic", CRITIC, criticParameters(valued), criticSteps),
  };
});
