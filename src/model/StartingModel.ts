/**
 * The model that a run starts from: `model.path`, with a fresh adapter (`model.lora`) or one from a PEFT folder (`model.adapter`).
 * Invariant: the base weights beside an adapter lie in memory that all threads share, and every model derived here shares them.
 */
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import { stream } from "../domain/Random.ts";
import { type AdapterFile, isAdapter, readAdapter, readBase, readDescription } from "./checkpoint/PeftFolder.ts";
import { type Adapter, adaptable, adapterFromKeys } from "./graphs/Adapter.ts";
import { adapterParameters, freshAdapter } from "./graphs/TrainedParameters.ts";
import * as Model from "./Model.ts";

type Keys = Pick<RunConfig["model"], "adapter" | "lora">;

const targetsText = ({ targets }: Adapter): string =>
  targets.length === adaptable.length ? "all-linear" : targets.join(",");

/** Returns the first key of `model.lora` that the found adapter contradicts, as a message. */
const adapterDifference = (configured: Adapter, found: Adapter, folder: string): string | undefined => {
  const pairs = [
    ["rank", configured.rank, found.rank],
    ["alpha", configured.alpha, found.alpha],
    ["target_modules", targetsText(configured), targetsText(found)],
  ] as const;
  const other = pairs.find(([, runFileValue, folderValue]) => runFileValue !== folderValue);
  if (other === undefined) return undefined;
  const [key, runFileValue, folderValue] = other;
  return `model.lora.${key}: ${runFileValue}: the adapter in ${folder} has ${folderValue}; nearest: ${folderValue}`;
};

const withAdapter = (model: Model.Model, { adapter, base, parameters }: AdapterFile): Model.Model => ({
  ...model,
  checkpoint: { ...model.checkpoint, config: { ...model.checkpoint.config, adapter }, adapter: { base, parameters } },
});

const readAdapterBeside = (folder: string, { checkpoint }: Model.Model): Effect.Effect<AdapterFile, BadInput> =>
  Effect.mapError(
    readAdapter(folder, { ...checkpoint.config, adapter: undefined }),
    ({ message }) => new BadInput({ message }),
  );

/** Loads the model in `path` with the adapter in `folder`. A given `lora` must describe the same adapter. */
const loadWithAdapter = Effect.fnUntraced(function* (path: string, folder: string, lora: Keys["lora"] | null) {
  const base = yield* Model.load(path, "shared");
  const file = yield* readAdapterBeside(folder, base);
  const configured = lora === null ? undefined : adapterFromKeys(lora);
  const problem = configured && adapterDifference(configured, file.adapter, folder);
  if (problem !== undefined) return yield* new BadInput({ message: problem });
  return withAdapter(base, { ...file, base: path });
});

/**
 * Loads `path` as the run file's `model` section asks; `seed` draws a fresh adapter. Fails with BadInput naming the file, tensor or
 * key.
 */
export const load = Effect.fnUntraced(function* (
  path: string,
  { adapter: folder, lora }: Keys,
  seed: number,
): Effect.fn.Return<Model.Model, BadInput> {
  if (folder !== "") return yield* loadWithAdapter(path, folder, lora);
  const adapter = adapterFromKeys(lora);
  if (adapter === undefined) return yield* Model.load(path);
  const model = yield* Model.load(path, "shared");
  const specs = adapterParameters(model.checkpoint.config, adapter);
  const parameters = freshAdapter(specs, stream({ seed, purpose: "initialisation", counters: [] }));
  return withAdapter(model, { adapter, base: path, parameters });
});

/** Fails with BadInput if the checkpoint in `path` has another adapter than `start`, or only one of them has an adapter. */
export const checkResumable = Effect.fnUntraced(function* (
  { checkpoint: { adapter, config } }: Model.Model,
  path: string,
): Effect.fn.Return<void, BadInput> {
  const trained = yield* isAdapter(path);
  if (trained && adapter !== undefined && config.adapter !== undefined) {
    const savedAdapter = yield* Effect.mapError(readDescription(path), ({ message }) => new BadInput({ message }));
    const message = adapterDifference(config.adapter, savedAdapter, path);
    if (message !== undefined) return yield* new BadInput({ message });
  }
  if (trained === (adapter !== undefined)) return;
  const began = trained ? "an adapter; nearest: its rank" : "all weights; nearest: 0";
  return yield* new BadInput({ message: `model.lora.rank: the run in ${path} trains ${began}` });
});

/**
 * Loads the checkpoint `path` of a run that began with `start`: a whole model, or the same base with another adapter. The caller
 * compares sizes.
 */
export const loadResumed = Effect.fnUntraced(function* (
  start: Model.Model,
  path: string,
): Effect.fn.Return<Model.Model, BadInput> {
  const { adapter, config } = start.checkpoint;
  if (adapter === undefined || config.adapter === undefined) return yield* Model.load(path);
  return withAdapter(start, { ...(yield* readAdapterBeside(path, start)), base: adapter.base });
});

/**
 * Loads the adapter in `folder` beside the model in `base`, or beside the base that it names. `elsewhere` is the advice for a base
 * that moved. Fails with BadInput.
 */
export const loadAdapter = Effect.fnUntraced(function* (
  folder: string,
  base: string | null,
  elsewhere: string,
): Effect.fn.Return<Model.Model, BadInput> {
  const named = yield* Effect.mapError(readBase(folder), ({ message }) => new BadInput({ message }));
  const path = base ?? named;
  return yield* loadWithAdapter(path, folder, null).pipe(
    Effect.mapError(({ message }) => {
      const from =
        base === null
          ? `, which the adapter in ${folder} names as its base; where that lies elsewhere, ${elsewhere}`
          : "";
      return new BadInput({ message: `${message}${from}` });
    }),
  );
});

/** Loads a model to play: `path` with the adapter of `model.adapter`, or the adapter in `path` beside the base that it names. */
export const loadForPlay = Effect.fnUntraced(function* (
  path: string,
  keys: Keys,
): Effect.fn.Return<Model.Model, BadInput> {
  if (yield* isAdapter(path)) {
    return yield* loadAdapter(path, null, "name it as model.path and this folder as model.adapter");
  }
  return keys.adapter === "" ? yield* Model.load(path) : yield* loadWithAdapter(path, keys.adapter, null);
});
