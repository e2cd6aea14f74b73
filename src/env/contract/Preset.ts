/** What a preset of the run file says of an environment, and how a registry of environments makes one of it. */
import type { Result } from "effect";
import type { Preset } from "../../config/RunConfig.ts";
import type { AnyEnvironment, InvalidConfig, RegisteredEnvironment } from "./BoundEnvironment.ts";

/** The keys of a preset that make its environment. */
export type EnvironmentSpec = Pick<Preset, "env_type" | "env_config"> & Partial<Pick<Preset, "wrappers">>;

/** The environments that some presets name, loaded in this thread. */
export interface Registry {
  /** By type, or by the path of the module. */
  readonly environments: ReadonlyMap<string, RegisteredEnvironment>;
  /** Paths of modules that cannot be used, and why. */
  readonly unusable: ReadonlyMap<string, string>;
}

/** An environment or a wrapper of no known type; `value` is undefined where none is given. */
export interface UnknownType {
  readonly _tag: "UnknownEnvironment" | "UnknownWrapper";
  readonly path: readonly string[];
  readonly value: unknown;
  readonly choices: readonly string[];
}

/** Why a preset cannot be used; `path` leads to the offending part of the run file. */
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

/** What a module of environments exports. Each environment thread imports it by its URL. */
export interface RegistryModule {
  readonly loadRegistry: LoadRegistry;
  readonly decodePreset: DecodePreset;
}
