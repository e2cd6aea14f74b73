/** The presets of config/envs.yaml, bound as a run binds them. */
import { readFileSync } from "node:fs";
import { Result, Schema } from "effect";
import { parse } from "yaml";
import { PresetSection } from "../../../src/config/RunConfig.ts";
import type {
  AnyEnvironment,
  BoundAsyncEnvironment,
  BoundEnvironment,
} from "../../../src/env/contract/BoundEnvironment.ts";
import { decodePreset, environmentTypes, loadRegistry } from "../../../src/env/games/registry.ts";

/** Every environment of this package, loaded. */
export const registry = await loadRegistry(environmentTypes);

const EnvironmentFile = Schema.Struct({ custom_envs: Schema.Record(Schema.String, PresetSection) });

const text = readFileSync(new URL("../../../config/envs.yaml", import.meta.url), "utf8");

export const presets = Schema.decodeUnknownSync(EnvironmentFile)(parse(text)).custom_envs;

/** Tags that need something outside this package (a server, a data set): their own tests play them against stand-ins. */
export const elsewhere: ReadonlySet<string> = new Set([
  "DeepCoder",
  "DeepCoderJavaScript",
  "Lean",
  "SearchQA",
  "WebShop",
  "WebShopFull",
  "Alfworld",
  "AlfworldOOD",
  "Remote",
]);

/** The environment of a tag, of either kind, with some keys of `env_config` replaced. */
export const anyPreset = (tag: string, overrides: Readonly<Record<string, unknown>> = {}): AnyEnvironment => {
  const { env_config, ...rest } = presets[tag]!;
  return Result.getOrThrow(decodePreset(tag, { ...rest, env_config: { ...env_config, ...overrides } }, registry));
};

/** A pure environment. */
export const preset = (tag: string, overrides: Readonly<Record<string, unknown>> = {}): BoundEnvironment => {
  const environment = anyPreset(tag, overrides);
  if (environment.asynchronous) throw new Error(`${tag} is asynchronous: use asyncPreset`);
  return environment;
};

/** An asynchronous environment. */
export const asyncPreset = (tag: string, overrides: Readonly<Record<string, unknown>> = {}): BoundAsyncEnvironment => {
  const environment = anyPreset(tag, overrides);
  if (!environment.asynchronous) throw new Error(`${tag} is pure: use preset`);
  return environment;
};
