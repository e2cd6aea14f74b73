/**
 * The table of environments by `env_type`, and the step from a preset of the run file to a bound environment. Each thread imports an
 * environment's code when a preset in use names it; a new environment is one line in `loaders`. A user's own environment is named by the
 * path of its module. Errors carry the path of the key in the run file.
 */
import * as Result from "effect/Result";
import * as Schema from "effect/Schema";
import { isModulePath } from "../../config/modulePath.ts";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import { type AnyEnvironment, bind, bindAsync, type RegisteredEnvironment } from "../contract/BoundEnvironment.ts";
import type { BaseInfo, Environment } from "../contract/Environment.ts";
import type { DecodePreset, LoadRegistry, PresetError } from "../contract/Preset.ts";
import { isAsync, load } from "../custom/EnvironmentModule.ts";
import { wrapAll } from "../wrappers/registry.ts";

const registerWith = <Config>(
  { type, config }: { readonly type: string; readonly config: Schema.Codec<Config, unknown> },
  bindConfig: (config: Config) => AnyEnvironment,
): RegisteredEnvironment => {
  const decode = Schema.decodeUnknownResult(config, { onExcessProperty: "error" });
  return { type, config, decode: (envConfig) => Result.map(decode(envConfig), bindConfig) };
};

const register = <Config, State, Info extends BaseInfo>(
  environment: Environment<Config, State, Info>,
): RegisteredEnvironment => registerWith(environment, (config) => bind(environment, config));

/** Registers an asynchronous environment. */
export const registerAsync = <Config, State, Info extends BaseInfo>(
  environment: AsyncEnvironment<Config, State, Info>,
): RegisteredEnvironment => registerWith(environment, (config) => bindAsync(environment, config));

type Loader = () => Promise<RegisteredEnvironment>;

const loaders: ReadonlyMap<string, Loader> = new Map<string, Loader>([
  ["alfworld", async () => registerAsync((await import("./alfworld/Alfworld.ts")).Alfworld)],
  ["bandit", async () => register((await import("./bandit/Bandit.ts")).Bandit)],
  ["countdown", async () => register((await import("./countdown/Countdown.ts")).Countdown)],
  ["deepcoder", async () => registerAsync((await import("./deepcoder/DeepCoder.ts")).DeepCoder)],
  ["frozen_lake", async () => register((await import("./frozen_lake/FrozenLake.ts")).FrozenLake)],
  ["game_2048", async () => register((await import("./game_2048/Game2048.ts")).Game2048)],
  ["lean", async () => registerAsync((await import("./lean/Lean.ts")).Lean)],
  ["metamathqa", async () => register((await import("./metamathqa/MetamathQA.ts")).MetamathQA)],
  ["remote", async () => registerAsync((await import("../openenv/Remote.ts")).Remote)],
  ["rubikscube", async () => register((await import("./rubikscube/RubiksCube.ts")).RubiksCube)],
  ["search", async () => registerAsync((await import("./search/SearchQA.ts")).SearchQA)],
  ["sokoban", async () => register((await import("./sokoban/Sokoban.ts")).Sokoban)],
  ["spatial", async () => register((await import("./spatial/Spatial.ts")).Spatial)],
  ["static_qa", async () => register((await import("./static_qa/StaticQA.ts")).StaticQA)],
  ["sudoku", async () => register((await import("./sudoku/Sudoku.ts")).Sudoku)],
  ["webshop", async () => registerAsync((await import("./webshop/WebShop.ts")).WebShop)],
]);

/** The types of this package's environments. */
export const environmentTypes: readonly string[] = [...loaders.keys()];

/** The URL of this module, which environment threads import themselves. */
export const gamesUrl = new URL(import.meta.url);

export const loadRegistry: LoadRegistry = async (envTypes) => {
  const environments = new Map<string, RegisteredEnvironment>();
  const unusable = new Map<string, string>();
  for (const envType of new Set(envTypes)) {
    const loader = loaders.get(envType);
    if (loader !== undefined) environments.set(envType, await loader());
    if (!isModulePath(envType)) continue;
    const loaded = await load(envType);
    if (Result.isFailure(loaded)) unusable.set(envType, loaded.failure);
    else {
      const environment = loaded.success;
      environments.set(envType, isAsync(environment) ? registerAsync(environment) : register(environment));
    }
  }
  return { environments, unusable };
};

export const decodePreset: DecodePreset = (tag, preset, registry) => {
  const registration = registry.environments.get(preset.env_type);
  if (registration === undefined) {
    const location = { path: ["custom_envs", tag, "env_type"], value: preset.env_type };
    const reason = registry.unusable.get(preset.env_type);
    return Result.fail(
      reason === undefined
        ? { _tag: "UnknownEnvironment", ...location, choices: environmentTypes }
        : { _tag: "UnusableModule", ...location, reason },
    );
  }
  const decoded = registration.decode(preset.env_config);
  if (Result.isFailure(decoded)) {
    return Result.fail({
      _tag: "InvalidConfig",
      path: ["custom_envs", tag, "env_config"],
      value: preset.env_config,
      cause: decoded.failure,
      schema: registration.config,
    });
  }
  return Result.mapError(
    wrapAll(decoded.success, preset.wrappers ?? []),
    (error): PresetError => ({ ...error, path: ["custom_envs", tag, "wrappers", ...error.path] }),
  );
};
