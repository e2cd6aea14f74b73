/** The contract between presets of the run file and a registry, which makes an environment of a preset. */
import type { Result } from "effect";
import type { Preset } from "../../config/RunConfig.ts";
import type { AnyEnvironment, InvalidConfig, RegisteredEnvironment } from "./BoundEnvironment.ts";

/** The keys of a preset from which its environment is made. */
export type EnvironmentSpec = Pick<Preset, "env_type" | "env_config"> & Partial<Pick<Preset, "wrappers">>;

/** The environments that some presets name, loaded in this thread. */
export interface Registry {
  /** The environments by type, or by the path of a user's module. */
  readonly environments: ReadonlyMap<string, RegisteredEnvironment>;
  /** The reasons why modules cannot be used, by path. */
  readonly unusable: ReadonlyMap<string, string>;
}

/** An environment or a wrapper of an unknown type; `value` is undefined where the type is missing. */
export interface UnknownType {
  readonly _tag: "UnknownEnvironment" | "UnknownWrapper";
  readonly path: readonly string[];
  readonly value: unknown;
  readonly choices: readonly string[];
}

/** The reason why a preset cannot be used; `path` leads to the offending part of the run file. */
export type PresetError =
  | UnknownType
  | {
      readonly _tag: "UnusableModule";
      readonly path: readonly string[];
      readonly value: string;
      readonly reason: string;
    }
  | InvalidConfig;

/** Loads the environments that `envTypes` name, and no others; types that do not exist are left out. */
export type LoadRegistry = (envTypes: Iterable<string>) => Promise<Registry>;

/** Makes the environment of a preset, whose `env_type` the registry has loaded. */
export type DecodePreset = (
  tag: string,
  preset: EnvironmentSpec,
  registry: Registry,
) => Result.Result<AnyEnvironment, PresetError>;

/** The exports of a registry's module. Each environment thread imports it by its URL. */
export interface RegistryModule {
  readonly loadRegistry: LoadRegistry;
  readonly decodePreset: DecodePreset;
}
