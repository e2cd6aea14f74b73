/**
 * The presets of a run file as environments ready to play. Only the environments that are asked for are loaded. Each `env_config` is
 * decoded by its environment's schema, so that a wrong key is named in full before anything starts.
 */
import { isDeepStrictEqual } from "node:util";
import { Console, Effect } from "effect";
import { explain } from "../src/config/decode.ts";
import { byNearest, choices } from "../src/config/nearest.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve } from "../src/config/resolve.ts";
import { listed, shown, shownKey, shownText } from "../src/config/shown.ts";
import { BadInput, type EnvironmentError } from "../src/domain/Errors.ts";
import type { AnyEnvironment } from "../src/env/contract/BoundEnvironment.ts";
import { NoInstance } from "../src/env/contract/NoInstance.ts";
import type { PresetError, Registry } from "../src/env/contract/Preset.ts";
import { introduceAll, missing, reports } from "../src/env/contract/prepare.ts";
import { decodePreset, environmentTypes, loadRegistry } from "../src/env/games/registry.ts";
import { configDir } from "./paths.ts";

/** How a user reads why a preset cannot be used. */
const sentence = (error: PresetError): string => {
  const key = shownKey(error.path);
  if (error._tag === "InvalidConfig") {
    return explain(error.schema, error.value, error.cause, { section: error.path });
  }
  if (error._tag === "UnusableModule") return `${key}: ${shown(error.value)}: ${shownText(error.reason, 300)}`;
  const what = error._tag === "UnknownEnvironment" ? "environment" : "wrapper";
  if (error.value === undefined) return `${key}: missing; expected one of ${error.choices.join(", ")}`;
  const written = String(error.value);
  const nearest = byNearest(written, error.choices)[0];
  return `${key}: ${shown(error.value)}: no such ${what}; nearest: ${nearest}; all: ${choices(written, error.choices)}`;
};

/** The environments that the presets of `tags` name, loaded; tags that are not in the run file are left out. */
const registryOf = ({ custom_envs }: RunConfig, tags: readonly string[]): Effect.Effect<Registry> =>
  Effect.promise(() => {
    const asked = new Set(tags);
    const types = Object.entries(custom_envs).flatMap(([tag, { env_type }]) => (asked.has(tag) ? [env_type] : []));
    return loadRegistry([...new Set(types)]);
  });

/** The environment of one preset; a tag that is not in the run file is bad input. */
const presetOf = (config: RunConfig, tag: string, registry: Registry): Effect.Effect<AnyEnvironment, BadInput> => {
  const preset = Object.hasOwn(config.custom_envs, tag) ? config.custom_envs[tag] : undefined;
  if (preset === undefined) {
    const known = Object.keys(config.custom_envs);
    const nearest = byNearest(tag, known)[0] ?? "none";
    const message = `${shown(tag)} is no preset of custom_envs; nearest: ${nearest}; all: ${choices(tag, known, 40)}`;
    return Effect.fail(new BadInput({ message }));
  }
  const decoded = decodePreset(tag, preset, registry);
  return Effect.mapError(Effect.fromResult(decoded), (error) => new BadInput({ message: sentence(error) }));
};

/**
 * Presets of this package's environments that the run file or the command line adds or changes. The others stand as config/envs.yaml
 * has them, which the tests hold to their schemas, so that nothing is loaded for them.
 */
const changedPresets = Effect.fnUntraced(function* ({ custom_envs }: RunConfig) {
  const { config: shipped } = yield* resolve("envs", [], configDir);
  return Object.entries(custom_envs).flatMap(([tag, preset]) =>
    environmentTypes.includes(preset.env_type) && !isDeepStrictEqual(preset, shipped.custom_envs[tag]) ? [tag] : [],
  );
});

/**
 * Checks the presets of `tags`, whatever their environment, and every other preset that the user wrote for an environment of this package.
 * All problems are named together.
 */
export const checkPresets = (config: RunConfig, tags: readonly string[]): Effect.Effect<void, BadInput> =>
  Effect.gen(function* () {
    const asked = new Set([...tags, ...(yield* changedPresets(config))]);
    const checked = Object.keys(config.custom_envs).filter((tag) => asked.has(tag));
    const registry = yield* registryOf(config, checked);
    const problems: string[] = [];
    for (const tag of checked) {
      yield* presetOf(config, tag, registry).pipe(
        Effect.catchTag("BadInput", ({ message }) => Effect.sync(() => problems.push(message))),
      );
    }
    if (problems.length > 0) return yield* new BadInput({ message: listed(problems) });
  });

/** A failure before the run begins is bad input. */
const asBadInput = <A>(asked: Effect.Effect<A, EnvironmentError>): Effect.Effect<A, BadInput> =>
  Effect.mapError(asked, ({ message }) => new BadInput({ message: `custom_envs.${message}` }));

/**
 * The environments of `tags`, decoded, and as their servers describe them. Bad input: the first preset that cannot be used, or a list of all
 * that is missing on this machine. What the user should know of their data goes to standard error.
 */
export const boundEnvironments = Effect.fnUntraced(function* (config: RunConfig, tags: readonly string[]) {
  const registry = yield* registryOf(config, tags);
  const environments: ReadonlyMap<string, AnyEnvironment> = new Map(
    yield* Effect.forEach(tags, (tag) =>
      Effect.map(presetOf(config, tag, registry), (environment) => [tag, environment] as const),
    ),
  );
  const lines = [...(yield* missing(environments))].flatMap(([tag, sentences]) =>
    sentences.map((sentence) => `custom_envs.${tag}: cannot run here: ${sentence}`),
  );
  if (lines.length > 0) return yield* new BadInput({ message: lines.join("\n") });
  for (const [tag, sentences] of yield* asBadInput(reports(environments))) {
    for (const sentence of sentences) yield* Console.error(`${tag}: ${sentence}`);
  }
  return yield* asBadInput(introduceAll(environments));
});

/** Why presets cannot run on this machine, a sentence each; those that can are left out. */
export const obstaclesOf = Effect.fnUntraced(function* (config: RunConfig) {
  const tags = Object.keys(config.custom_envs);
  const registry = yield* registryOf(config, tags);
  const bound = new Map<string, AnyEnvironment>();
  const obstacles = new Map<string, readonly string[]>();
  for (const tag of tags) {
    yield* Effect.match(presetOf(config, tag, registry), {
      onSuccess: (environment) => void bound.set(tag, environment),
      onFailure: ({ message }) => void obstacles.set(tag, message.split("\n")),
    });
  }
  for (const [tag, sentences] of yield* missing(bound)) obstacles.set(tag, sentences);
  const inOrder = tags.map((tag) => [tag, obstacles.get(tag) ?? []] as const);
  return new Map(inOrder.filter(([, sentences]) => sentences.length > 0));
});

/** What `make` returns; a configuration under which no instance is found is bad input that names `key`. */
export const withInstances = <A>(key: string, make: () => A): Effect.Effect<A, BadInput> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(make());
    } catch (error) {
      if (!(error instanceof NoInstance)) throw error;
      return Effect.fail(new BadInput({ message: `${key}: ${error.message}` }));
    }
  });
