/**
 * The learner's part of a checkpoint folder, beside the Hugging Face model: critic and reference weights, optimiser moments, and counters
 * in learner.json. The thread that holds the numbers writes them and a manifest into an existing folder; the caller adds its files and
 * renames it. Invariant: everything is float32, so a restored trainer continues bit for bit.
 */
import { join } from "node:path";
import { Effect, Schema } from "effect";
import { Count } from "../domain/Count.ts";
import type { Version } from "../domain/Episode.ts";
import { type CheckpointError, checkpointError, fromFileError } from "../model/checkpoint/CheckpointError.ts";
import { type Checkpoint, writeCheckpoint } from "../model/checkpoint/HuggingFaceFolder.ts";
import { readParameters, tensorMismatch, writeParameters } from "../model/checkpoint/ParameterFile.ts";
import { readAdapter, writeAdapter } from "../model/checkpoint/PeftFolder.ts";
import { readInto, type Tensor, write } from "../model/checkpoint/Safetensors.ts";
import type { Header, TensorEntry } from "../model/checkpoint/SafetensorsHeader.ts";
import { readJsonObject, write as writeTokenizerFiles } from "../model/checkpoint/TokenizerFiles.ts";
import { type DecoderConfig, parameterCount } from "../model/graphs/Architecture.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import { trainedCriticParameters, trainedParameters } from "../model/graphs/TrainedParameters.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import { replaceText } from "../support/files/AtomicWrite.ts";
import * as Manifest from "../support/files/Manifest.ts";
import type { Moments } from "./optimiser/AdamW.ts";
import type { RestoredTrainer, TrainedNetwork, TrainerState } from "./TrainerState.ts";

const MODEL = "model.safetensors";
const CRITIC = "critic.safetensors";
const REFERENCE = "reference.safetensors";
const OPTIMISER = "optimiser.safetensors";
const EARLIER = "earlier.safetensors";
const STATE = "learner.json";

/** Layout of the folder. It is raised when an older reader would misread the new layout. */
const SCHEMA = 2;

const Counters = Schema.Struct({
  schema: Schema.Literal(SCHEMA),
  version: Count,
  windows: Count,
  actorUpdates: Count,
  criticUpdates: Count,
  /** Optimiser steps of the actor, and of the critic (null without one). */
  actorSteps: Count,
  criticSteps: Schema.NullOr(Count),
  /** Coefficient of the KL divergence in the reward; absent while it is the run file's. */
  klCoefficient: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  /** Versions before the newest whose weights the folder has, ascending; absent without a fixed lag. */
  earlier: Schema.optionalKey(Schema.Array(Count)),
  /** Present if the folder has weights of a renewed reference policy. */
  reference: Schema.optionalKey(Schema.Literal(true)),
});

type Role = "actor" | "critic";

const momentTensors = (role: Role, { first, second }: Moments): readonly (readonly [string, Tensor])[] => [
  [`${role}.first`, { shape: [first.length], data: first }],
  [`${role}.second`, { shape: [second.length], data: second }],
];

/** The files that make a weights file a loadable model folder. */
export type ModelFiles = Omit<Checkpoint, "parameters" | "format">;

/** Writes the policy as others load it: in Hugging Face's layout, or in PEFT's if an adapter is trained. */
export const writePolicy = Effect.fnUntraced(function* (folder: string, model: ModelFiles, parameters: Parameters) {
  const { adapter } = model.config;
  if (adapter === undefined || model.adapter === undefined) {
    return yield* writeCheckpoint(folder, { ...model, parameters, format: "F32" });
  }
  yield* writeAdapter(folder, { adapter, base: model.adapter.base, parameters });
  yield* writeTokenizerFiles(folder, model.tokenizer);
});

/** Parts of a trainer's checkpoint beside its state, policy and critic. */
export interface CheckpointExtras {
  /** Weights of a renewed reference policy. */
  readonly reference?: Parameters | undefined;
  /** Versions before the newest one, ascending; absent without a fixed lag. */
  readonly earlier?: readonly EarlierVersion[] | undefined;
}

const earlierName = (version: Version): string => `version.${version}`;

/** Writes a trainer's state. Fails with `CheckpointError` on disk errors. */
export const saveTrainer = Effect.fnUntraced(function* (
  folder: string,
  model: ModelFiles,
  state: TrainerState,
  actor: TrainedNetwork,
  critic: TrainedNetwork | undefined,
  { earlier, reference }: CheckpointExtras = {},
): Effect.fn.Return<void, CheckpointError> {
  yield* writePolicy(folder, model, actor.parameters);
  if (critic !== undefined) yield* writeParameters(join(folder, CRITIC), critic.parameters);
  if (reference !== undefined) yield* writeParameters(join(folder, REFERENCE), reference);
  if (earlier !== undefined && earlier.length > 0) {
    const tensors = earlier.map(
      ({ parameters, version }) => [earlierName(version), { shape: [parameters.length], data: parameters }] as const,
    );
    yield* write(join(folder, EARLIER), new Map<string, Tensor>(tensors));
  }
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
    ...(earlier === undefined ? {} : { earlier: earlier.map(({ version }) => version) }),
    ...(reference === undefined ? {} : { reference: true }),
  };
  yield* replaceText(join(folder, STATE), `${JSON.stringify(counters, null, 2)}\n`).pipe(
    Effect.andThen(Manifest.seal(folder)),
    Effect.mapError(fromFileError),
  );
});

const firstNegative = (values: Float32Array): number => {
  for (let i = 0; i < values.length; i++) if (values[i]! < 0) return i;
  return -1;
};

const negativeMoment = (path: string, name: string, values: Float32Array): CheckpointError => {
  const index = firstNegative(values);
  const detail = `tensor "${name}" holds ${values[index]} at index ${index}; a mean of squares is never negative`;
  return checkpointError(path, "not_finite", detail);
};

/** Moments of both networks, by role. */
type MomentsByRole = Readonly<Partial<Record<Role, Omit<Moments, "steps">>>>;

/** Reads the moments of the roles in `sizes`, which are parameter counts. Compares sizes before it allocates any memory. */
const readMoments = (path: string, sizes: ReadonlyMap<Role, number>): Effect.Effect<MomentsByRole, CheckpointError> =>
  Effect.suspend(() => {
    const moments: Partial<Record<Role, Omit<Moments, "steps">>> = {};
    const places = new Map<string, Float32Array>();
    const place = ({ entries }: Header) => {
      for (const [role, size] of sizes) {
        const roleEntries = entries.filter(({ name }) => name === `${role}.first` || name === `${role}.second`);
        if (roleEntries.length < 2)
          return checkpointError(path, "missing_tensor", `it lacks the moments of the ${role}`);
        for (const { shape } of roleEntries) {
          if (shape.length === 1 && shape[0] === size) continue;
          const detail = `the moments of the ${role} have shape [${shape.join(", ")}], its parameters ${size} values`;
          return checkpointError(path, "wrong_shape", detail);
        }
      }
      for (const [role, size] of sizes) {
        const roleMoments = { first: new Float32Array(size), second: new Float32Array(size) };
        moments[role] = roleMoments;
        places.set(`${role}.first`, roleMoments.first).set(`${role}.second`, roleMoments.second);
      }
      return ({ name }: TensorEntry) => places.get(name);
    };
    return Effect.flatMap(readInto(path, place), () => {
      const negative = [...places].find(([name, values]) => name.endsWith(".second") && firstNegative(values) !== -1);
      return negative === undefined ? Effect.succeed(moments) : Effect.fail(negativeMoment(path, ...negative));
    });
  });

/** Returns why the counters are impossible; undefined if they are not. */
const counterFault = ({ actorUpdates, criticUpdates, windows }: TrainerState): string | undefined =>
  actorUpdates > windows || criticUpdates > windows
    ? `${windows} windows cannot have made ${actorUpdates} updates of the actor and ${criticUpdates} of the critic`
    : undefined;

/** Returns the message for a folder of another schema. */
const schemaFault = (schema: unknown): string => {
  const readable = `this version reads schema ${SCHEMA}`;
  if (schema === undefined) return `it has no "schema", so an early millrace 0.1.0 wrote it; ${readable}`;
  return `its schema is ${JSON.stringify(schema).slice(0, 60)}; ${readable}`;
};

/** Reads learner.json. */
const readCounters = Effect.fnUntraced(function* (folder: string) {
  const path = join(folder, STATE);
  const json = yield* readJsonObject(path);
  if (json.schema !== SCHEMA) return yield* checkpointError(path, "unsupported", schemaFault(json.schema));
  const counters = yield* Schema.decodeUnknownEffect(Counters)(json).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message.replaceAll(/\s*\n\s*/g, " "))),
  );
  const { earlier = [], version } = counters;
  const isAscending = earlier.every((each, i) => each < (earlier[i + 1] ?? version));
  if (isAscending) return counters;
  return yield* checkpointError(
    path,
    "bad_config",
    `its earlier versions (${earlier.join(", ")}) do not rise to ${version}`,
  );
});

/** Reads the weights of `versions`, each of `size` values. Compares names and sizes before it allocates any memory. */
const readVersions = (
  path: string,
  versions: readonly Version[],
  size: number,
): Effect.Effect<readonly EarlierVersion[], CheckpointError> => {
  if (versions.length === 0) return Effect.succeed([]);
  const names = versions.map(earlierName);
  let read: readonly EarlierVersion[] = [];
  const place = ({ entries }: Header) => {
    const specs = names.map((name) => ({ name, shape: [size] }));
    const mismatch = tensorMismatch(path, entries, specs, []);
    if (mismatch !== undefined) return mismatch;
    read = versions.map((version) => ({ version, parameters: new Float32Array(size) }));
    const places = new Map(read.map(({ parameters, version }) => [earlierName(version), parameters]));
    return ({ name }: TensorEntry) => places.get(name);
  };
  return Effect.map(readInto(path, place), () => read);
};

/** Reads the versions before the newest one that `saveTrainer` wrote, ascending. Fails with `CheckpointError`. */
export const readEarlier = Effect.fnUntraced(function* (folder: string, config: DecoderConfig) {
  const { earlier = [] } = yield* readCounters(folder);
  return yield* readVersions(join(folder, EARLIER), earlier, parameterCount(trainedParameters(config)));
});

/** Reads what `saveTrainer` wrote. `criticTrunk` sizes the critic. Fails with `CheckpointError` that names the file and its fault. */
export const restoreTrainer = Effect.fnUntraced(function* (
  folder: string,
  config: DecoderConfig,
  criticTrunk: DecoderConfig = config,
): Effect.fn.Return<RestoredTrainer, CheckpointError> {
  const { actorSteps, criticSteps, earlier = [], reference, schema: _, ...state } = yield* readCounters(folder);
  const fault = counterFault(state);
  if (fault !== undefined) return yield* checkpointError(join(folder, STATE), "bad_config", fault);
  const [actorSpecs, criticSpecs] = [trainedParameters(config), trainedCriticParameters(criticTrunk)];
  const sizes = new Map<Role, number>([["actor", parameterCount(actorSpecs)]]);
  if (criticSteps !== null) sizes.set("critic", parameterCount(criticSpecs));
  const optimiser = join(folder, OPTIMISER);
  const moments = yield* readMoments(optimiser, sizes);
  const policy =
    config.adapter === undefined ? readParameters(join(folder, MODEL), actorSpecs) : readAdapter(folder, config);
  const network = Effect.fnUntraced(function* (
    role: Role,
    file: Effect.Effect<{ readonly parameters: Parameters }, CheckpointError>,
    steps: number,
  ): Effect.fn.Return<TrainedNetwork, CheckpointError> {
    const { parameters } = yield* file;
    const roleMoments = moments[role];
    if (roleMoments === undefined) return yield* checkpointError(optimiser, "missing_tensor", `it lacks the ${role}`);
    return { parameters, moments: { ...roleMoments, steps } };
  });
  return {
    state,
    actor: yield* network("actor", policy, actorSteps),
    critic:
      criticSteps === null
        ? undefined
        : yield* network("critic", readParameters(join(folder, CRITIC), criticSpecs), criticSteps),
    earlier: yield* readVersions(join(folder, EARLIER), earlier, parameterCount(actorSpecs)),
    ...(reference === undefined
      ? {}
      : { reference: (yield* readParameters(join(folder, REFERENCE), actorSpecs)).parameters }),
  };
});
