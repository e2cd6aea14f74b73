/**
 * The presets of a run file as environments ready to play. Only the environments that are asked for are loaded. Each `env_config` is
 * decoded by its environment's schema, so that a wrong key is named in full before anything starts.
 */
import { isDeepStrictEqual } from "node:util";
import { Console, Effect } from "effect";
import { withLevels } from "../src/config/levels.ts";
import { isModulePath } from "../src/config/modulePath.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve } from "../src/config/resolve.ts";
import { listProblems, showValue } from "../src/config/show.ts";
import { BadInput, type EnvironmentError } from "../src/domain/Errors.ts";
import { type AnyEnvironment, asyncEnvironments, pureEnvironments } from "../src/env/contract/BoundEnvironment.ts";
import { explainPreset } from "../src/env/contract/explainPreset.ts";
import { NoInstance } from "../src/env/contract/NoInstance.ts";
import type { Registry } from "../src/env/contract/Preset.ts";
import { collectLacks, collectReports, describeAll } from "../src/env/contract/prepare.ts";
import { decodePreset, environmentTypes, gamesUrl, loadRegistry } from "../src/env/games/registry.ts";
import { describePresets } from "../src/env/pool/describePresets.ts";
import type { PresetDescription } from "../src/env/pool/describeWorker.ts";
import type { RunEnvironments } from "../src/env/pool/layer.ts";
import { byNearest, choices } from "../src/support/text/nearest.ts";
import { configDir } from "./paths.ts";

/** The environments that the presets of `tags` name, loaded; tags that are not in the run file are left out. */
const registryOf = ({ custom_envs }: RunConfig, tags: readonly string[]): Effect.Effect<Registry> =>
  Effect.promise(() => {
    const tagSet = new Set(tags);
    const types = Object.entries(withLevels(custom_envs)).flatMap(([tag, { env_type }]) =>
      tagSet.has(tag) ? [env_type] : [],
    );
    return loadRegistry([...new Set(types)]);
  });

/** The environment of one preset; a tag that is not in the run file is bad input. */
const presetOf = (config: RunConfig, tag: string, registry: Registry): Effect.Effect<AnyEnvironment, BadInput> => {
  const presets = withLevels(config.custom_envs);
  const preset = Object.hasOwn(presets, tag) ? presets[tag] : undefined;
  if (preset === undefined) {
    const presetTags = Object.keys(presets);
    const nearest = byNearest(tag, presetTags)[0] ?? "none";
    const message = `${showValue(tag)} is no preset of custom_envs; nearest: ${nearest}; all: ${choices(tag, presetTags, 40)}`;
    return Effect.fail(new BadInput({ message }));
  }
  const decoded = decodePreset(tag, preset, registry);
  return Effect.mapError(Effect.fromResult(decoded), (error) => new BadInput({ message: explainPreset(error) }));
};

/**
 * Presets of this package's environments that the run file or the command line adds or changes. The others stand as config/envs.yaml
 * has them, which the tests hold to their schemas, so that nothing is loaded for them.
 */
const changedPresets = Effect.fnUntraced(function* ({ custom_envs }: RunConfig) {
  const { config: shipped } = yield* resolve("envs", [], configDir);
  const shippedPresets = withLevels(shipped.custom_envs);
  return Object.entries(withLevels(custom_envs)).flatMap(([tag, preset]) =>
    environmentTypes.includes(preset.env_type) && !isDeepStrictEqual(preset, shippedPresets[tag]) ? [tag] : [],
  );
});

type Descriptions = ReadonlyMap<string, PresetDescription>;

/** The presets of `tags` whose environment is a user's module, described by a thread that loads it. */
const describedModules = (
  { custom_envs }: RunConfig,
  tags: readonly string[],
  withData: boolean,
): Effect.Effect<Descriptions> => {
  const modules = Object.entries(withLevels(custom_envs)).filter(
    ([tag, { env_type }]) => tags.includes(tag) && isModulePath(env_type),
  );
  if (modules.length === 0) return Effect.succeed(new Map());
  return describePresets({ registry: gamesUrl.href, presets: Object.fromEntries(modules), withData });
};

/**
 * Checks the presets of `tags`, whatever their environment, and every other preset that the user wrote for an environment of this package.
 * All problems are named together.
 */
export const checkPresets = (config: RunConfig, tags: readonly string[]): Effect.Effect<void, BadInput> =>
  Effect.gen(function* () {
    const checkedTags = new Set([...tags, ...(yield* changedPresets(config))]);
    const checked = Object.keys(withLevels(config.custom_envs)).filter((tag) => checkedTags.has(tag));
    const described = yield* describedModules(config, checked, false);
    const registry = yield* registryOf(
      config,
      checked.filter((tag) => !described.has(tag)),
    );
    const problems: string[] = [];
    for (const tag of checked) {
      const description = described.get(tag);
      if (description?._tag === "Unusable") problems.push(description.problem);
      if (description !== undefined) continue;
      yield* presetOf(config, tag, registry).pipe(
        Effect.catchTag("BadInput", ({ message }) => Effect.sync(() => problems.push(message))),
      );
    }
    if (problems.length > 0) return yield* new BadInput({ message: listProblems(problems) });
  });

/** A failure before the run begins is bad input. */
const asBadInput = <A>(effect: Effect.Effect<A, EnvironmentError>): Effect.Effect<A, BadInput> =>
  Effect.mapError(effect, ({ message }) => new BadInput({ message: `custom_envs.${message}` }));

/** Fails with all that the environments lack on this machine, and prints what the user should know of their data. */
const tellData = Effect.fnUntraced(function* (
  tags: readonly string[],
  loaded: ReadonlyMap<string, AnyEnvironment>,
  described: Descriptions,
) {
  const pure = new Map([...described].flatMap(([tag, found]) => (found._tag === "Pure" ? [[tag, found]] : [])));
  const lacks = yield* collectLacks(loaded);
  const lines = tags.flatMap((tag) =>
    (lacks.get(tag) ?? pure.get(tag)?.lacks ?? []).map(
      (sentence) => `custom_envs.${tag}: cannot run here: ${sentence}`,
    ),
  );
  if (lines.length > 0) return yield* new BadInput({ message: lines.join("\n") });
  const reports = yield* asBadInput(collectReports(loaded));
  for (const tag of tags) {
    for (const sentence of reports.get(tag) ?? pure.get(tag)?.report ?? []) yield* Console.error(`${tag}: ${sentence}`);
  }
});

/** The environments of `tags` but for the described ones, loaded in this thread and as their servers describe them. */
const loadedEnvironments = Effect.fnUntraced(function* (
  config: RunConfig,
  tags: readonly string[],
  described: Descriptions,
) {
  const loadedTags = tags.filter((tag) => !described.has(tag));
  const registry = yield* registryOf(config, loadedTags);
  const loaded: ReadonlyMap<string, AnyEnvironment> = new Map(
    yield* Effect.forEach(loadedTags, (tag) =>
      Effect.map(presetOf(config, tag, registry), (environment) => [tag, environment] as const),
    ),
  );
  yield* tellData(tags, loaded, described);
  return yield* asBadInput(describeAll(loaded));
});

/**
 * The environments of `tags`, loaded in this thread. Bad input: the first preset that cannot be used, or a list of all that is missing on
 * this machine. What the user should know of their data goes to standard error.
 */
export const boundEnvironments = (config: RunConfig, tags: readonly string[]) =>
  loadedEnvironments(config, tags, new Map());

/**
 * The environments that a run plays, with the same failures. A user's module is loaded in threads only, unless its environment is asynchronous
 * or steps are inline.
 */
export const playedEnvironments = Effect.fnUntraced(function* (
  config: RunConfig,
  tags: readonly string[],
): Effect.fn.Return<RunEnvironments, BadInput> {
  if (config.pipeline.step_inline) {
    const bound = yield* boundEnvironments(config, tags);
    return { texts: bound, onMainThread: bound };
  }
  const described = yield* describedModules(config, tags, true);
  const inThreads = new Map<string, PresetDescription & { readonly _tag: "Pure" }>();
  for (const [tag, description] of described) {
    if (description._tag === "Unusable") return yield* new BadInput({ message: description.problem });
    if (description._tag === "Pure") inThreads.set(tag, description);
  }
  const loaded = yield* loadedEnvironments(config, tags, inThreads);
  const texts = tags.flatMap((tag) => {
    const text = inThreads.get(tag)?.text ?? loaded.get(tag);
    return text === undefined ? [] : [[tag, text] as const];
  });
  return { texts: new Map(texts), onMainThread: asyncEnvironments(loaded) };
});

/** The environments of `tags`, where each is one of this package's that can be played at once: pure, without data to load. Null where one is not. */
export const readyEnvironments = Effect.fnUntraced(function* (config: RunConfig, tags: readonly string[]) {
  const presets = withLevels(config.custom_envs);
  if (tags.some((tag) => !environmentTypes.includes(presets[tag]?.env_type ?? ""))) return null;
  const registry = yield* registryOf(config, tags);
  const bound = yield* Effect.forEach(tags, (tag) =>
    Effect.map(presetOf(config, tag, registry), (environment) => [tag, environment] as const),
  );
  const ready = pureEnvironments(new Map(bound.filter(([, { prepare }]) => prepare === null)));
  return ready.size === tags.length ? ready : null;
});

/** Why presets cannot run on this machine, a sentence each; those that can are left out. */
export const obstaclesOf = Effect.fnUntraced(function* (config: RunConfig) {
  const tags = Object.keys(withLevels(config.custom_envs));
  const registry = yield* registryOf(config, tags);
  const bound = new Map<string, AnyEnvironment>();
  const obstacles = new Map<string, readonly string[]>();
  for (const tag of tags) {
    yield* Effect.match(presetOf(config, tag, registry), {
      onSuccess: (environment) => void bound.set(tag, environment),
      onFailure: ({ message }) => void obstacles.set(tag, message.split("\n")),
    });
  }
  for (const [tag, sentences] of yield* collectLacks(bound)) obstacles.set(tag, sentences);
  const inOrder = tags.map((tag) => [tag, obstacles.get(tag) ?? []] as const);
  return new Map(inOrder.filter(([, sentences]) => sentences.length > 0));
});

/** Calls `make`; a configuration without any instance is bad input that names `key`. */
export const withInstances = <A>(key: string, make: () => A): Effect.Effect<A, BadInput> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(make());
    } catch (error) {
      if (!(error instanceof NoInstance)) throw error;
      return Effect.fail(new BadInput({ message: `${key}: ${error.message}` }));
    }
  });
