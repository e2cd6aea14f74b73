/**
 * An adapter as a PEFT folder that peft can load: adapter_config.json and adapter_model.safetensors.
 * Unsupported features (other methods than LoRA, biases, DoRA, ranks per layer) are refused by name.
 * Invariant: an adapter that is written and read again has the same bits.
 */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { Effect, Schema } from "effect";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import { type Adaptable, type Adapter, adaptable, inLayerOrder } from "../graphs/Adapter.ts";
import type { DecoderConfig, ParameterSpec } from "../graphs/Architecture.ts";
import { namedTensors, type Parameters, parametersOf } from "../graphs/Parameters.ts";
import { adapterParameters } from "../graphs/TrainedParameters.ts";
import { type CheckpointError, checkpointError, fromFileError } from "./CheckpointError.ts";
import { readParameters } from "./ParameterFile.ts";
import { readHeader, write } from "./Safetensors.ts";
import type { Tensor } from "./SafetensorsHeader.ts";
import { readJsonObject } from "./TokenizerFiles.ts";

const CONFIG = "adapter_config.json";
const WEIGHTS = "adapter_model.safetensors";

/** PEFT's prefix of a parameter's name. */
const PREFIX = "base_model.model.";

export interface AdapterFile {
  readonly adapter: Adapter;
  readonly parameters: Parameters;
  /** The base model as PEFT names it: a path, or a name of the hub. */
  readonly base: string;
}

const Positive = Schema.Finite.check(Schema.isGreaterThan(0));
const AdapterJson = Schema.Struct({
  peft_type: Schema.String,
  r: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4_096 })),
  lora_alpha: Positive,
  base_model_name_or_path: Schema.optionalKey(Schema.NullOr(Schema.String)),
  bias: Schema.optionalKey(Schema.Unknown),
  fan_in_fan_out: Schema.optionalKey(Schema.Unknown),
  use_dora: Schema.optionalKey(Schema.Unknown),
  use_rslora: Schema.optionalKey(Schema.Unknown),
  lora_bias: Schema.optionalKey(Schema.Unknown),
  rank_pattern: Schema.optionalKey(Schema.Unknown),
  alpha_pattern: Schema.optionalKey(Schema.Unknown),
  modules_to_save: Schema.optionalKey(Schema.Unknown),
});
type AdapterJson = typeof AdapterJson.Type;

/** The values under which a key changes nothing. */
const inertValues: readonly (readonly [keyof AdapterJson, readonly unknown[]])[] = [
  ["peft_type", ["LORA"]],
  ["bias", ["none"]],
  ["fan_in_fan_out", [false]],
  ["use_dora", [false]],
  ["use_rslora", [false]],
  ["lora_bias", [false]],
  ["rank_pattern", [{}]],
  ["alpha_pattern", [{}]],
  ["modules_to_save", [[]]],
];

/** The first key with a value that is not supported, as a sentence. */
const unsupportedKey = (json: AdapterJson): string | undefined => {
  for (const [key, values] of inertValues) {
    const value = json[key];
    const same = (one: unknown): boolean => JSON.stringify(one) === JSON.stringify(value);
    if (value === undefined || value === null || values.some(same)) continue;
    return `${key} is ${JSON.stringify(value).slice(0, 60)}; supported is ${JSON.stringify(values[0])}`;
  }
  return undefined;
};

const readConfig = Effect.fnUntraced(function* (path: string) {
  const json = yield* Schema.decodeUnknownEffect(AdapterJson)(yield* readJsonObject(path)).pipe(
    Effect.catchTag("SchemaError", ({ message }) =>
      Effect.fail(checkpointError(path, "bad_config", message.replaceAll(/\s*\n\s*/g, " "))),
    ),
  );
  const refused = unsupportedKey(json);
  return refused === undefined ? json : yield* checkpointError(path, "unsupported", refused);
});

/** Returns the layers that the file's tensors adapt. The config is not used, because it may name them by a pattern. */
const targetsOf = (path: string, names: readonly string[]): readonly Adaptable[] | CheckpointError => {
  const modules = names.map((name) => /([a-z_]+)\.lora_[AB]\.weight$/.exec(name)?.[1] ?? name);
  const other = modules.find((name) => inLayerOrder([name]).length === 0);
  if (other !== undefined) {
    return checkpointError(path, "unsupported", `it adapts "${other}"; supported are ${adaptable.join(", ")}`);
  }
  return modules.length === 0 ? checkpointError(path, "missing_tensor", "it holds no adapter") : inLayerOrder(modules);
};

const withPrefix = (specs: readonly ParameterSpec[]): readonly ParameterSpec[] =>
  specs.map(({ name, shape }) => ({ name: PREFIX + name, shape }));

/** True if a folder holds an adapter. */
export const isAdapter = (folder: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(join(folder, CONFIG)).then(
      () => true,
      () => false,
    ),
  );

/** The base model that the adapter in `folder` names; "" where it names none. Fails with `CheckpointError`. */
export const readBase = (folder: string): Effect.Effect<string, CheckpointError> =>
  Effect.map(readConfig(join(folder, CONFIG)), (json) => json.base_model_name_or_path ?? "");

/** Reads the rank, alpha and layers of the adapter in `folder`, without its numbers. Fails with `CheckpointError`. */
export const readDescription = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<Adapter, CheckpointError> {
  const { lora_alpha: alpha, r: rank } = yield* readConfig(join(folder, CONFIG));
  const path = join(folder, WEIGHTS);
  const { entries } = yield* readHeader(path);
  const targets = targetsOf(
    path,
    entries.map(({ name }) => name),
  );
  if (!Array.isArray(targets)) return yield* targets as CheckpointError;
  return { rank, alpha, targets };
});

/** Reads the adapter in `folder`, of a model of these sizes. Fails with `CheckpointError`, on a base of other sizes too. */
export const readAdapter = Effect.fn("PeftFolder.readAdapter")(function* (
  folder: string,
  model: DecoderConfig,
): Effect.fn.Return<AdapterFile, CheckpointError> {
  const { base_model_name_or_path: base } = yield* readConfig(join(folder, CONFIG));
  const path = join(folder, WEIGHTS);
  const adapter = yield* readDescription(folder);
  const specs = adapterParameters(model, adapter);
  const { parameters } = yield* readParameters(path, withPrefix(specs)).pipe(
    Effect.mapError((error) =>
      error.reason === "wrong_shape" || error.reason === "missing_tensor" || error.reason === "unexpected_tensor"
        ? checkpointError(
            path,
            error.reason,
            `${error.message.slice(path.length + 2)}; is model.path its base${base ? ` (${base})` : ""}?`,
          )
        : error,
    ),
  );
  return { adapter, parameters: parametersOf(specs, parameters.flat), base: base ?? "" };
});

/** The contents of adapter_config.json: what peft needs to load the adapter, the rest being its defaults. */
const configOf = ({ alpha, rank, targets }: Adapter, base: string) => ({
  peft_type: "LORA",
  task_type: "CAUSAL_LM",
  base_model_name_or_path: base,
  r: rank,
  lora_alpha: alpha,
  lora_dropout: 0,
  target_modules: targets,
  bias: "none",
  fan_in_fan_out: false,
  inference_mode: true,
  init_lora_weights: true,
  modules_to_save: null,
  rank_pattern: {},
  alpha_pattern: {},
  use_dora: false,
  use_rslora: false,
});

/** Writes the two files into an existing folder, each under another name first and renamed. Fails with `CheckpointError`. */
export const writeAdapter = (
  folder: string,
  { adapter, base, parameters }: AdapterFile,
): Effect.Effect<void, CheckpointError> => {
  const tensors = new Map<string, Tensor>(
    namedTensors(parameters).map(({ name, shape, values }) => [PREFIX + name, { shape, data: values }]),
  );
  const config = `${JSON.stringify(configOf(adapter, base), null, 2)}\n`;
  return Effect.andThen(
    write(join(folder, WEIGHTS), tensors, { metadata: { format: "pt" } }),
    replaceText(join(folder, CONFIG), config).pipe(Effect.mapError(fromFileError)),
  );
};
