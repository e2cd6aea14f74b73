/**
 * The presets of a run file as environments ready to play: modules they name loaded, each `env_config` decoded by its environment's
 * schema, so that a wrong key is named in full before anything starts.
 */
import { Console, Effect } from "effect";
import { explain } from "../src/config/decode.ts";
import { isModulePath } from "../src/config/modulePath.ts";
import { byNearest, choices } from "../src/config/nearest.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput, type EnvironmentError } from "../src/domain/Errors.ts";
import type { AnyEnvironment } from "../src/env/BoundEnvironment.ts";
import { NoInstance } from "../src/env/NoInstance.ts";
import { introduceAll, missing, reports } from "../src/env/prepare.ts";
import {
  builtIn,
  decodePreset,
  environments,
  loadRegistry,
  type PresetError,
  type Registry,
} from "../src/env/registry.ts";

const sentence = (error: PresetError): string => {
  const key = error.path.join(".");
  if (error._tag === "InvalidConfig") {
    return explain(error.schema, error.value, error.cause, { section: error.path });
  }
  if (error._tag === "UnusableModule") return `${key}: ${JSON.stringify(error.value)}: ${error.reason}`;
  const what = error._tag === "UnknownEnvironment" ? "environment" : "wrapper";
  if (error.value === undefined) return `${key}: missing; expected one of ${error.choices.join(", ")}`;
  const written = String(error.value);
  const nearest = byNearest(written, error.choices)[0];
  return `${key}: ${JSON.stringify(error.value)}: no such ${what}; nearest: ${nearest}; all: ${choices(written, error.choices)}`;
};

/** What the presets of `tags` may name; synchronous where none of them names a module. */
const registryOf = ({ custom_envs }: RunConfig, tags: readonly string[]): Effect.Effect<Registry> => {
  const named = tags.flatMap((tag) => (Object.hasOwn(custom_envs, tag) ? [custom_envs[tag].env_type] : []));
  return named.some(isModulePath) ? Effect.promise(() => loadRegistry(named)) : Effect.succeed(builtIn);
};

/** The environment of one preset; a tag that is not in the run file is bad input. */
const presetOf = (config: RunConfig, tag: string, registry: Registry): Effect.Effect<AnyEnvironment, BadInput> => {
  const known = Object.keys(config.custom_envs);
  if (!known.includes(tag)) {
    const nearest = byNearest(tag, known)[0] ?? "none";
    const message = `${JSON.stringify(tag)} is no preset of custom_envs; nearest: ${nearest}; all: ${choices(tag, known, 40)}`;
    return Effect.fail(new BadInput({ message }));
  }
  const decoded = decodePreset(tag, config.custom_envs[tag], registry);
  return Effect.mapError(Effect.fromResult(decoded), (error) => new BadInput({ message: sentence(error) }));
};

/** Decodes every preset of a known environment, and those that `tags` name whatever their environment. */
export const checkPresets = (config: RunConfig, tags: readonly string[]): Effect.Effect<void, BadInput> =>
  Effect.gen(function* () {
    const used = Object.entries(config.custom_envs).filter(
      ([tag, preset]) => tags.includes(tag) || environments.has(preset.env_type),
    );
    const registry = yield* registryOf(config, tags);
    const problems: string[] = [];
    for (const [tag] of used) {
      yield* presetOf(config, tag, registry).pipe(
        Effect.catchTag("BadInput", ({ message }) => Effect.sync(() => problems.push(message))),
      );
    }
    if (problems.length > 0) return yield* new BadInput({ message: problems.join("\n") });
  });

/** What is known before a run is the user's to mend. */
const toldBefore = <A>(asked: Effect.Effect<A, EnvironmentError>): Effect.Effect<A, BadInput> =>
  Effect.mapError(asked, ({ message }) => new BadInput({ message: `custom_envs.${message}` }));

/**
 * The environments of `tags`, decoded, and as their servers describe them; the first that cannot be used is bad input, and so is all that
 * is missing on this machine. What there is to know of their data is said on standard error.
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
  for (const [tag, sentences] of yield* toldBefore(reports(environments))) {
    for (const sentence of sentences) yield* Console.error(`${tag}: ${sentence}`);
  }
  return yield* toldBefore(introduceAll(environments));
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
  return new Map(tags.flatMap((tag) => (obstacles.has(tag) ? [[tag, obstacles.get(tag)!] as const] : [])));
});

/** What `make` gives; a configuration under which no instance is found is bad input, told of `key`. */
export const withInstances = <A>(key: string, make: () => A): Effect.Effect<A, BadInput> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(make());
    } catch (error) {
      if (!(error instanceof NoInstance)) throw error;
      return Effect.fail(new BadInput({ message: `${key}: ${error.message}` }));
    }
  });
