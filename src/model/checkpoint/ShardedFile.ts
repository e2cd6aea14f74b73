/**
 * The parameters of a list of specs, split over safetensors files that an index lists (model.safetensors.index.json).
 * Invariant: before any value is read, every named tensor is known to be in the shard that the index says, once and in its shape.
 */
import { basename, dirname, join } from "node:path";
import { Effect, Schema } from "effect";
import type { ParameterSpec } from "../graphs/Architecture.ts";
import { parametersOf } from "../graphs/Parameters.ts";
import { CheckpointError, checkpointError } from "./CheckpointError.ts";
import { type Allocate, nameList, type ParameterFile, type ReadOptions, tensorMismatch } from "./ParameterFile.ts";
import { readHeader, readInto } from "./Safetensors.ts";
import { commonFormat, type TensorEntry } from "./SafetensorsHeader.ts";
import { readJsonObject } from "./TokenizerFiles.ts";

const Index = Schema.Struct({ weight_map: Schema.Record(Schema.String, Schema.String) });

/** Tensors by the shard that holds them. */
type Shards = ReadonlyMap<string, readonly string[]>;

const shardsOf = (weightMap: Readonly<Record<string, string>>): Shards => {
  const shards = new Map<string, string[]>();
  for (const [tensor, shard] of Object.entries(weightMap)) shards.set(shard, [...(shards.get(shard) ?? []), tensor]);
  return shards;
};

const readIndex = Effect.fnUntraced(function* (path: string): Effect.fn.Return<Shards, CheckpointError> {
  const { weight_map } = yield* Schema.decodeUnknownEffect(Index)(yield* readJsonObject(path)).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message.replaceAll(/\s*\n\s*/g, " "))),
  );
  const shards = shardsOf(weight_map);
  const outside = [...shards.keys()].find((name) => basename(name) !== name || !name.endsWith(".safetensors"));
  if (outside === undefined) return shards;
  return yield* checkpointError(
    path,
    "bad_config",
    `its shard ${JSON.stringify(outside)} is no safetensors file beside it`,
  );
});

/** Returns how a shard's tensors differ from the index, or undefined. */
const disagreement = (
  path: string,
  listed: readonly string[],
  entries: readonly TensorEntry[],
  shards: Shards,
): CheckpointError | undefined => {
  const present = new Set(entries.map(({ name }) => name));
  const missing = listed.filter((name) => !present.has(name));
  if (missing.length > 0)
    return checkpointError(path, "missing_tensor", `it lacks ${nameList(missing)}, which the index says it holds`);
  const listedNames = new Set(listed);
  const extra = entries.find(({ name }) => !listedNames.has(name))?.name;
  if (extra === undefined) return undefined;
  const other = [...shards].find(([, tensors]) => tensors.includes(extra))?.[0];
  const detail = other === undefined ? "which the index does not list" : `which the index says is in ${other}`;
  return checkpointError(path, "unexpected_tensor", `it holds "${extra}", ${detail}`);
};

const readShardHeader = (
  path: string,
  listed: readonly string[],
): Effect.Effect<readonly TensorEntry[], CheckpointError> =>
  readHeader(path).pipe(
    Effect.map(({ entries }) => entries),
    Effect.mapError((error) =>
      error.reason === "missing_file"
        ? new CheckpointError({
            ...error,
            message: `${path}: this shard is missing; the index says it holds ${nameList(listed)}`,
          })
        : error,
    ),
  );

/**
 * Reads the parameters of `specs` from the shards beside the index at `path`. Fails with `CheckpointError`, before any value is read
 * if the headers tell.
 */
export const readShardsInto = Effect.fnUntraced(function* <B extends ArrayBufferLike>(
  path: string,
  specs: readonly ParameterSpec[],
  allocate: Allocate<B>,
  { ignored = [] }: ReadOptions = {},
): Effect.fn.Return<ParameterFile<B>, CheckpointError> {
  const shards = yield* readIndex(path);
  const allEntries: TensorEntry[] = [];
  for (const [shard, listed] of shards) {
    const file = join(dirname(path), shard);
    const entries = yield* readShardHeader(file, listed);
    const wrong = disagreement(file, listed, entries, shards);
    if (wrong !== undefined) return yield* wrong;
    allEntries.push(...entries);
  }
  const wrong = tensorMismatch(path, allEntries, specs, ignored);
  if (wrong !== undefined) return yield* wrong;
  const parameters = allocate(specs);
  const views = new Map(specs.map(({ name }, index) => [name, parameters.tensors[index]]));
  for (const shard of shards.keys())
    yield* readInto(
      join(dirname(path), shard),
      () =>
        ({ name }: TensorEntry) =>
          views.get(name),
    );
  return { parameters, format: commonFormat(allEntries) };
});

/** Reads the parameters of `specs` into memory of their own. Fails with `CheckpointError`. */
export const readShards = (
  path: string,
  specs: readonly ParameterSpec[],
  options: ReadOptions = {},
): Effect.Effect<ParameterFile, CheckpointError> => readShardsInto(path, specs, parametersOf, options);
