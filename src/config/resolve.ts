/**
 * Makes a `RunConfig` of a run file's name and overrides. The files are merged in the order of their `defaults:` lists, the overrides over
 * them; RAGEN's keys are renamed, the result is decoded strictly, and the relations between keys are checked. All problems of a step are
 * reported at once.
 */
import { Console, Effect, Result } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { aliases, canonical, reference, translate } from "./aliases.ts";
import { check, evenly } from "./check.ts";
import type { Layer } from "./compose.ts";
import { layersOf, locate } from "./compose.ts";
import { decode } from "./decode.ts";
import { anchored } from "./modulePath.ts";
import { byNearest } from "./nearest.ts";
import type { Override } from "./overrides.ts";
import { parseOverride } from "./overrides.ts";
import { RunConfig } from "./RunConfig.ts";
import { listed, mostProblems, shown, shownKey, shownText } from "./shown.ts";
import type { Path, Tree } from "./Tree.ts";
import { eachLeaf, get, leaves, merge, removeAll, set, setAll } from "./Tree.ts";
import { limits } from "./yamlText.ts";

export interface Resolved {
  readonly config: RunConfig;
  /** Accepted keys without an effect, one line each. */
  readonly warnings: readonly string[];
}

/** The configuration of an empty run file. */
const schemaDefaults: RunConfig = Result.getOrThrow(decode(RunConfig, {}));

const overrideOrigin = "override";

const fail = (lines: readonly string[], others = 0) => Effect.fail(new BadInput({ message: listed(lines, others) }));

/** The values of all results, or the problems of all that failed. */
const all = <A>(results: ReadonlyArray<Result.Result<A, BadInput>>): Effect.Effect<readonly A[], BadInput> => {
  const problems = results.flatMap((result) => (Result.isFailure(result) ? [result.failure.message] : []));
  if (problems.length > 0) return fail(problems);
  return Effect.succeed(results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : [])));
};

/**
 * Where `env_groups` or `tags` is set in a later layer than `n_groups`, the groups are split evenly among the tags, as RAGEN's files
 * expect.
 */
const withGroupCounts = (layers: readonly Layer[], tree: Tree): Tree => {
  let result = tree;
  for (const side of ["train", "val"]) {
    const last = (key: string) =>
      layers.findLastIndex((layer) => get(layer.tree, ["es_manager", side, key]) !== undefined);
    if (last("n_groups") >= Math.max(last("env_groups"), last("tags"))) continue;
    const defaults = schemaDefaults.es_manager[side === "train" ? "train" : "val"];
    const groups = get(tree, ["es_manager", side, "env_groups"]) ?? defaults.env_groups;
    const tags = get(tree, ["es_manager", side, "tags"]) ?? defaults.tags;
    const splits = typeof groups === "number" && Array.isArray(tags) && tags.length > 0 && groups >= tags.length;
    result = splits ? set(result, ["es_manager", side, "n_groups"], evenly(groups, tags.length)) : result;
  }
  return result;
};

/** References that lead to one another, at most. */
const longestChain = 16;

/** Whether a tree has more values than a run file may have; references can make it so. */
const isTooLarge = (tree: Tree): boolean => {
  let count = 0;
  for (const _leaf of eachLeaf(tree)) if (++count > limits.values) return true;
  return false;
};

/** Replaces whole-value references `${key}` by that key's value. */
const withReferences = (tree: Tree): Effect.Effect<Tree, BadInput> => {
  const problems: string[] = [];
  const follow = (path: Path, value: unknown, seen: readonly string[]): unknown => {
    const key = reference(value);
    if (key === null) return value;
    const target = get(tree, key.split(".")) ?? get(schemaDefaults, key.split("."));
    const circular = seen.includes(key);
    if (target !== undefined && !circular && seen.length < longestChain) return follow(path, target, [...seen, key]);
    const why =
      target === undefined
        ? "refers to a key that is not set"
        : circular
          ? "refers to itself"
          : `refers to others through more than ${longestChain}`;
    problems.push(`${shownKey(path)}: ${shown(value)} ${why}`);
    return value;
  };
  const changes = leaves(tree)
    .filter(({ value }) => reference(value) !== null)
    .map(({ path, value }) => ({ path, value: follow(path, value, []) }));
  if (problems.length > 0) return fail(problems);
  const resolved = setAll(tree, changes);
  return isTooLarge(resolved)
    ? fail([`more than ${limits.values} values, references resolved`])
    : Effect.succeed(resolved);
};

/** The last layer that sets a key, or the list it is an item of. */
const originOf = (layers: readonly Layer[], path: Path): string | null => {
  const found = layers.findLast(({ tree }) => get(tree, path) !== undefined);
  if (found !== undefined) return found.origin;
  const inList = /^\d+$/.test(path.at(-1) ?? "");
  return inList ? originOf(layers, path.slice(0, -1)) : null;
};

/** A preset without an `env_type` exists only in overrides: most likely its tag is misspelt. */
const unknownPresets = (tree: Tree): Effect.Effect<void, BadInput> => {
  const presets = Object.entries(get(tree, ["custom_envs"]) ?? {});
  const isKnown = ([, preset]: readonly [string, unknown]) => get(preset, ["env_type"]) !== undefined;
  const known = presets.filter(isKnown).map(([tag]) => tag);
  const unknown = presets.filter((entry) => !isKnown(entry));
  const lines = unknown.slice(0, mostProblems).map(([tag, preset]) => {
    const [leaf] = leaves(preset, ["custom_envs", tag]);
    const key = shownKey(leaf?.path ?? ["custom_envs", tag]);
    const nearest = shownText(byNearest(tag, known)[0] ?? "none");
    return `${key}: no preset ${shown(tag)} (a new one needs env_type); nearest: ${nearest}`;
  });
  return lines.length === 0 ? Effect.void : fail(lines, unknown.length - lines.length);
};

/** Overrides together may be as long as the files of a run together. */
const checkLength = (texts: readonly string[]): Effect.Effect<void, BadInput> => {
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  if (total <= limits.characters) return Effect.void;
  const line = `${texts.length} overrides of ${total} characters: at most ${limits.characters} are taken; write them to a run file`;
  return fail([line]);
};

const fromLayers = (files: readonly Layer[], texts: readonly string[]): Effect.Effect<Resolved, BadInput> =>
  Effect.gen(function* () {
    yield* checkLength(texts);
    const overrides: readonly Override[] = yield* all(texts.map(parseOverride));
    const written = setAll(
      {},
      overrides.flatMap((change) => (change._tag === "Set" ? [change] : [])),
    );
    const given = { origin: overrideOrigin, tree: anchored(written, process.cwd()) };
    const translated = [...files, given].map(({ origin, tree }) => ({
      origin,
      ...translate(tree),
    }));
    const foreign = translated.flatMap(({ origin, problems }) => problems.map((line) => `${line} (${origin})`));
    if (foreign.length > 0) return yield* fail(foreign);

    const removals = overrides.flatMap((change) =>
      change._tag === "Remove" ? [canonical(change.path.join(".")).split(".")] : [],
    );
    const layers = translated.map(({ origin, tree }) => ({
      origin,
      tree: origin === overrideOrigin ? tree : removeAll(tree, removals),
    }));
    const merged = layers.reduce((under: Tree, { tree }) => merge(under, tree), {});
    const tree = withGroupCounts(layers, yield* withReferences(merged));

    yield* unknownPresets(tree);
    const origin = (path: Path) => originOf(layers, path);
    const config = yield* Effect.fromResult(decode(RunConfig, tree, { origin, synonyms: Object.keys(aliases) }));
    const problems = check(config);
    if (problems.length > 0) return yield* fail(problems);
    const warnings = translated.flatMap(({ origin, warnings }) => warnings.map((line) => `${origin}: ${line}`));
    return { config, warnings };
  });

/** Resolves the run file `name` of `configDir` (or a path to one) under `overrides`, warnings included. */
export const resolve = (
  name: string,
  overrides: readonly string[],
  configDir: string,
): Effect.Effect<Resolved, BadInput> =>
  Effect.gen(function* () {
    const file = yield* locate(name, configDir);
    return yield* fromLayers(yield* layersOf(file, configDir), overrides);
  });

/** Like `resolve`; prints the warnings to standard error. */
export const load = (
  name: string,
  overrides: readonly string[],
  configDir: string,
): Effect.Effect<RunConfig, BadInput> =>
  resolve(name, overrides, configDir).pipe(
    Effect.tap(({ warnings }) =>
      warnings.length === 0 ? Effect.void : Console.error(listed(warnings.map((line) => `warning: ${line}`))),
    ),
    Effect.map(({ config }) => config),
  );
