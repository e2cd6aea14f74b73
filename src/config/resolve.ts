/**
 * Makes a `RunConfig` of a run file's name and overrides: files are merged in the order of their `defaults:` lists, then overrides.
 * RAGEN's keys are renamed, the result is decoded strictly, and relations between keys are checked. All problems of a step are reported at once.
 */
import { Console, Effect, Result } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { byNearest } from "../support/text/nearest.ts";
import { check } from "./check.ts";
import { evenly } from "./checks/groups.ts";
import type { Layer } from "./compose.ts";
import { layersOf, locate } from "./compose.ts";
import { decode } from "./decode.ts";
import { type InheritedValue, inheritedValues } from "./inheritedValues.ts";
import { Interpolator } from "./interpolate.ts";
import { withAbsoluteModulePaths } from "./modulePath.ts";
import type { Override } from "./overrides.ts";
import { parseOverride } from "./overrides.ts";
import { RunConfig } from "./RunConfig.ts";
import { ourKey } from "./ragen/aliases.ts";
import { foreignKeys, meaningOf } from "./ragen/foreign.ts";
import { asideMessage, type ForeignKeyReport, reportForeignKeys } from "./ragen/foreignReport.ts";
import { applyRules } from "./ragen/rules.ts";
import { translate, unset } from "./ragen/translate.ts";
import { listProblems, maxProblems, showKey, showText, showValue } from "./show.ts";
import type { Path, Tree } from "./Tree.ts";
import { eachLeaf, get, leaves, merge, removeAll, set, setAll } from "./Tree.ts";
import { limits } from "./yamlText.ts";

export interface Resolution {
  readonly config: RunConfig;
  /** Foreign keys without an effect, by reason. */
  readonly aside: ForeignKeyReport["aside"];
  /** One line for each value that was translated to another meaning. */
  readonly notes: readonly string[];
  /** True if the run file asks for a validation without training. */
  readonly isValidationOnly: boolean;
  /** Values for a small model that a later layer with another model inherits (inheritedValues.ts). */
  readonly inherited: readonly InheritedValue[];
}

/** The configuration of an empty run file. */
const schemaDefaults: RunConfig = Result.getOrThrow(decode(RunConfig, {}));

const overrideOrigin = "override";

const fail = (lines: readonly string[], others = 0) =>
  Effect.fail(new BadInput({ message: listProblems(lines, others) }));

/** Collects the values of all results, or all their problems. */
const collectResults = <A>(
  results: ReadonlyArray<Result.Result<A, BadInput>>,
): Effect.Effect<readonly A[], BadInput> => {
  const problems = results.flatMap((result) => (Result.isFailure(result) ? [result.failure.message] : []));
  if (problems.length > 0) return fail(problems);
  return Effect.succeed(results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : [])));
};

const isSet = (value: unknown): boolean => value !== undefined && value !== unset;

/**
 * Splits the groups evenly among the tags if a later layer than `n_groups` sets `env_groups` or `tags`, as RAGEN's files expect.
 */
const withGroupCounts = (layers: readonly Layer[], tree: Tree): Tree => {
  let result = tree;
  for (const side of ["train", "val"]) {
    const last = (key: string) => layers.findLastIndex((layer) => isSet(get(layer.tree, ["es_manager", side, key])));
    const others = Math.max(last("env_groups"), last("tags"));
    const emptied = others >= 0 && get(tree, ["es_manager", side, "n_groups"]) === undefined;
    if (last("n_groups") >= others && !emptied) continue;
    const defaults = schemaDefaults.es_manager[side === "train" ? "train" : "val"];
    const groups = get(tree, ["es_manager", side, "env_groups"]) ?? defaults.env_groups;
    const tags = get(tree, ["es_manager", side, "tags"]) ?? defaults.tags;
    const splits = typeof groups === "number" && Array.isArray(tags) && tags.length > 0 && groups >= tags.length;
    result = splits ? set(result, ["es_manager", side, "n_groups"], evenly(groups, tags.length)) : result;
  }
  return result;
};

/** True if a tree exceeds the most values of a run file, which references can cause. */
const isTooLarge = (tree: Tree): boolean => {
  let count = 0;
  for (const _leaf of eachLeaf(tree)) if (++count > limits.values) return true;
  return false;
};

/** A layer under our keys, and its keys that have no counterpart. */
interface TranslatedLayer extends Layer {
  readonly foreign: Tree;
}

/** All layers merged, with references resolved. */
interface MergedLayers {
  readonly tree: Tree;
  readonly foreign: Tree;
  readonly problems: readonly string[];
  /** False if the tree is too large to continue. */
  readonly isUsable: boolean;
}

/** True if the value of a foreign key affects the result, so that its reference must resolve. */
const affectsResult = (path: Path): boolean => {
  const meaning = meaningOf(path);
  return meaning._tag === "ByRule" || meaning._tag === "Unavailable";
};

/** Merges the layers and resolves every reference. */
const mergeLayers = (layers: readonly TranslatedLayer[]): MergedLayers => {
  const merged = layers.reduce((under: Tree, { tree }) => merge(under, tree), {});
  const foreign = layers.reduce((under: Tree, layer) => merge(under, layer.foreign), {});
  const interpolator = new Interpolator({
    lookup: (key) => {
      const ours = ourKey(key).split(".");
      const places = [get(merged, ours), get(foreign, key.split(".")), get(schemaDefaults, ours)];
      return places.find(isSet);
    },
    environment: process.env,
  });
  const ours = interpolator.readAll(merged);
  const others = interpolator.readAll(foreign);
  const failed = [...ours.problems, ...others.problems.filter(({ path }) => affectsResult(path))];
  const problems = failed.map(({ path, value, why }) => `${showKey(path)}: ${showValue(value)} ${why}`);
  if (isTooLarge(ours.tree)) {
    return {
      tree: {},
      foreign: {},
      problems: [`more than ${limits.values} values, references resolved`],
      isUsable: false,
    };
  }
  const empty = [...eachLeaf(ours.tree)].flatMap(({ path, value }) => (value === unset ? [path] : []));
  return { tree: removeAll(ours.tree, empty), foreign: others.tree, problems, isUsable: true };
};

/** Returns the last layer that sets a key, or the list that contains it. */
const originOf = (layers: readonly Layer[], path: Path): string | null => {
  const layer = layers.findLast(({ tree }) => get(tree, path) !== undefined);
  if (layer !== undefined) return layer.origin;
  const inList = /^\d+$/.test(path.at(-1) ?? "");
  return inList ? originOf(layers, path.slice(0, -1)) : null;
};

/** Finds presets without an `env_type`. Only overrides can make them, most likely by a misspelt tag. */
const unknownPresets = (tree: Tree): { readonly lines: readonly string[]; readonly paths: readonly Path[] } => {
  const presets = Object.entries(get(tree, ["custom_envs"]) ?? {});
  const isKnown = ([, preset]: readonly [string, unknown]) => get(preset, ["env_type"]) !== undefined;
  const knownTags = presets.filter(isKnown).map(([tag]) => tag);
  const unknown = presets.filter((entry) => !isKnown(entry));
  const lines = unknown.slice(0, maxProblems).map(([tag, preset]) => {
    const [leaf] = leaves(preset, ["custom_envs", tag]);
    const key = showKey(leaf?.path ?? ["custom_envs", tag]);
    const nearest = showText(byNearest(tag, knownTags)[0] ?? "none");
    return `${key}: no preset ${showValue(tag)} (a new one needs env_type); nearest: ${nearest}`;
  });
  const more = unknown.length - lines.length;
  return {
    lines: more > 0 ? [...lines, `… and ${more} more`] : lines,
    paths: unknown.map(([tag]) => ["custom_envs", tag]),
  };
};

/** Limits all overrides together to the length of a run's files. */
const checkLength = (texts: readonly string[]): Effect.Effect<void, BadInput> => {
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  if (total <= limits.characters) return Effect.void;
  const line = `${texts.length} overrides of ${total} characters: at most ${limits.characters} are taken; write them to a run file`;
  return fail([line]);
};

/** Translates files and overrides to our keys, the overrides last, with notes on dropped values. */
const translateLayers = Effect.fnUntraced(function* (files: readonly Layer[], texts: readonly string[]) {
  yield* checkLength(texts);
  const overrides: readonly Override[] = yield* collectResults(texts.map(parseOverride));
  const written = setAll(
    {},
    overrides.flatMap((change) => (change._tag === "Set" ? [change] : [])),
  );
  const overrideLayer: Layer = { origin: overrideOrigin, tree: withAbsoluteModulePaths(written, process.cwd()) };
  const removed = overrides.flatMap((change) => (change._tag === "Remove" ? [change.path] : []));
  const removals = [...removed, ...removed.map((path) => ourKey(path.join(".")).split("."))];
  const notes: string[] = [];
  const layers = [...files, overrideLayer].map(({ origin, tree }): TranslatedLayer => {
    const translation = translate(tree);
    notes.push(...translation.notes);
    if (origin === overrideOrigin) return { origin, ...translation };
    return { origin, tree: removeAll(translation.tree, removals), foreign: removeAll(translation.foreign, removals) };
  });
  return { layers, notes };
});

/** Separates "… and N more" lines from the others and adds up their counts. */
const splitCounts = (lines: readonly string[]): readonly [lines: readonly string[], others: number] => {
  const numbers = lines.map((line) => Number(/^… and (\d+) more$/.exec(line)?.[1] ?? 0));
  return [lines.filter((_, index) => numbers[index] === 0), numbers.reduce((sum, count) => sum + count, 0)];
};

const keyOf = (line: string): string => line.split(": ", 1).join("");

/** Returns the problems of keys that `found` does not name. */
const problemsOfOtherKeys = (found: readonly string[], { message }: BadInput): readonly string[] => {
  const named = new Set(found.map(keyOf));
  return message.split("\n").filter((line) => !named.has(keyOf(line)));
};

/** Resolves layers that have been read, the most basic first, under `overrides`. */
export const resolveLayers = (files: readonly Layer[], texts: readonly string[]): Effect.Effect<Resolution, BadInput> =>
  Effect.gen(function* () {
    const { layers, notes } = yield* translateLayers(files, texts);
    const merged = mergeLayers(layers);
    if (!merged.isUsable) return yield* fail(merged.problems);
    const settled = applyRules(merged.tree, merged.foreign);
    const tree = withGroupCounts(layers, settled.tree);
    const origin = (path: Path) => originOf(layers, path);
    const unknown = unknownPresets(tree);
    const decoded = decode(RunConfig, removeAll(tree, unknown.paths), { origin, synonyms: foreignKeys });
    const foreign = layers.map(({ foreign, origin }) => ({ origin, tree: foreign }));
    const { aside, problems } = reportForeignKeys(merged.foreign, merge(schemaDefaults, merged.tree), (path) =>
      originOf(foreign, path),
    );
    const lines = [
      ...merged.problems,
      ...settled.problems,
      ...problems,
      ...unknown.lines,
      ...(Result.isFailure(decoded) ? problemsOfOtherKeys(merged.problems, decoded.failure) : check(decoded.success)),
    ];
    if (lines.length > 0 || Result.isFailure(decoded)) return yield* fail(...splitCounts(lines));
    const config = decoded.success;
    const { isValidationOnly } = settled;
    return {
      config,
      aside,
      notes: [...notes, ...settled.notes],
      isValidationOnly,
      inherited: inheritedValues(layers, config),
    };
  });

/** Returns the remarks on a run file that is valid, or null. */
export const remarks = ({ aside, notes }: Resolution): string | null => asideMessage(aside, notes);

/** Resolves the run file `name` of `configDir` (or a path to one) under `layers` from elsewhere and `overrides`. */
export const resolve = (
  name: string,
  overrides: readonly string[],
  configDir: string,
  envs: string | null = null,
  layers: readonly Layer[] = [],
): Effect.Effect<Resolution, BadInput> =>
  Effect.gen(function* () {
    const file = yield* locate(name, configDir);
    return yield* resolveLayers([...(yield* layersOf(file, configDir, envs)), ...layers], overrides);
  });

/** Prints the remarks to standard error. */
export const warn = (resolved: Resolution): Effect.Effect<void> => {
  const text = remarks(resolved);
  return text === null ? Effect.void : Console.error(`warning: ${text}`);
};

/** Resolves a run file and prints the remarks to standard error. */
export const load = (
  name: string,
  overrides: readonly string[],
  configDir: string,
  envs: string | null = null,
): Effect.Effect<RunConfig, BadInput> =>
  resolve(name, overrides, configDir, envs).pipe(
    Effect.tap(warn),
    Effect.map(({ config }) => config),
  );
