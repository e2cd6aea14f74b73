/**
 * Every environment by its `env_type`, and the step from a preset of the run file to a bound environment. Adding an environment is
 * one line in `all`; those of one's own are named by the path of their module, and loaded before. An error carries the path under which
 * the value stands in the run file.
 */
import { Result, Schema } from "effect";
import { isModulePath } from "../config/modulePath.ts";
import type { Preset } from "../config/RunConfig.ts";
import { Alfworld } from "../environments/alfworld/Alfworld.ts";
import { Bandit } from "../environments/bandit/Bandit.ts";
import { Countdown } from "../environments/countdown/Countdown.ts";
import { DeepCoder } from "../environments/deepcoder/DeepCoder.ts";
import { FrozenLake } from "../environments/frozen_lake/FrozenLake.ts";
import { Game2048 } from "../environments/game_2048/Game2048.ts";
import { Lean } from "../environments/lean/Lean.ts";
import { MetamathQA } from "../environments/metamathqa/MetamathQA.ts";
import { RubiksCube } from "../environments/rubikscube/RubiksCube.ts";
import { SearchQA } from "../environments/search/SearchQA.ts";
import { Sokoban } from "../environments/sokoban/Sokoban.ts";
import { Spatial } from "../environments/spatial/Spatial.ts";
import { StaticQA } from "../environments/static_qa/StaticQA.ts";
import { Sudoku } from "../environments/sudoku/Sudoku.ts";
import { WebShop } from "../environments/webshop/WebShop.ts";
import { Remote } from "../openenv/Remote.ts";
import type { AsyncEnvironment } from "./AsyncEnvironment.ts";
import { type AnyEnvironment, bind, bindAsync, type InvalidConfig, type Registered } from "./BoundEnvironment.ts";
import { load, waits } from "./custom/EnvironmentModule.ts";
import type { BaseInfo, Environment } from "./Environment.ts";
import { type UnknownWrapper, wrapAll } from "./wrappers/registry.ts";

const registered = <Config>(
  { type, config }: { readonly type: string; readonly config: Schema.Codec<Config, unknown> },
  bound: (config: Config) => AnyEnvironment,
): Registered => {
  const decode = Schema.decodeUnknownResult(config, { onExcessProperty: "error" });
  return { type, config, decode: (envConfig) => Result.map(decode(envConfig), bound) };
};

const register = <Config, State, Info extends BaseInfo>(environment: Environment<Config, State, Info>): Registered =>
  registered(environment, (config) => bind(environment, config));

/** The same for an environment that waits. */
export const registerAsync = <Config, State, Info extends BaseInfo>(
  environment: AsyncEnvironment<Config, State, Info>,
): Registered => registered(environment, (config) => bindAsync(environment, config));

const all = [
  registerAsync(Alfworld),
  register(Bandit),
  register(Countdown),
  registerAsync(DeepCoder),
  register(FrozenLake),
  register(Game2048),
  registerAsync(Lean),
  register(MetamathQA),
  registerAsync(Remote),
  register(RubiksCube),
  registerAsync(SearchQA),
  register(Sokoban),
  register(Spatial),
  register(StaticQA),
  register(Sudoku),
  registerAsync(WebShop),
];

export const environments: ReadonlyMap<string, Registered> = new Map(all.map((entry) => [entry.type, entry]));

/** What an `env_type` may name. */
export interface Registry {
  /** By type, or by the path of the module. */
  readonly environments: ReadonlyMap<string, Registered>;
  /** Paths of modules that cannot be used, and why. */
  readonly unusable: ReadonlyMap<string, string>;
}

export const builtIn: Registry = { environments, unusable: new Map() };

/** The environments of this package, and those of the modules among `envTypes`, loaded in this thread. */
export const loadRegistry = async (envTypes: Iterable<string>): Promise<Registry> => {
  const found = new Map(environments);
  const unusable = new Map<string, string>();
  for (const path of new Set([...envTypes].filter(isModulePath))) {
    const loaded = await load(path);
    if (Result.isFailure(loaded)) unusable.set(path, loaded.failure);
    else {
      const environment = loaded.success;
      found.set(path, waits(environment) ? registerAsync(environment) : register(environment));
    }
  }
  return { environments: found, unusable };
};

/** What of a preset makes its environment. */
export type PresetFrame = Pick<Preset, "env_type" | "env_config"> & Partial<Pick<Preset, "wrappers">>;

/** Why a preset cannot be used; `path` leads to the offending part of the run file. */
export type PresetError =
  | {
      readonly _tag: "UnknownEnvironment";
      readonly path: readonly string[];
      readonly value: string;
      readonly choices: readonly string[];
    }
  | {
      readonly _tag: "UnusableModule";
      readonly path: readonly string[];
      readonly value: string;
      readonly reason: string;
    }
  | InvalidConfig
  | UnknownWrapper;

/** `registry` holds the modules that presets name. */
export const decodePreset = (
  tag: string,
  preset: PresetFrame,
  registry: Registry = builtIn,
): Result.Result<AnyEnvironment, PresetError> => {
  const entry = registry.environments.get(preset.env_type);
  if (entry === undefined) {
    const where = { path: ["custom_envs", tag, "env_type"], value: preset.env_type };
    const reason = registry.unusable.get(preset.env_type);
    return Result.fail(
      reason === undefined
        ? { _tag: "UnknownEnvironment", ...where, choices: [...environments.keys()] }
        : { _tag: "UnusableModule", ...where, reason },
    );
  }
  const decoded = entry.decode(preset.env_config);
  if (Result.isFailure(decoded)) {
    return Result.fail({
      _tag: "InvalidConfig",
      path: ["custom_envs", tag, "env_config"],
      value: preset.env_config,
      cause: decoded.failure,
      schema: entry.config,
    });
  }
  return Result.mapError(
    wrapAll(decoded.success, preset.wrappers ?? []),
    (error): PresetError => ({ ...error, path: ["custom_envs", tag, "wrappers", ...error.path] }),
  );
};
