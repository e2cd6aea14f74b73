/**
 * Reads a run file and its includes as layers, of which later ones override earlier ones.
 * The files of its `defaults:` list come first, then the file itself, unless `_self_` stands elsewhere in the list.
 * Paths of modules are relative to the file that names them.
 */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { Effect, Result } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { byNearest, choices } from "../support/text/nearest.ts";
import { withAbsoluteModulePaths } from "./modulePath.ts";
import { readText } from "./readText.ts";
import { showText, showValue } from "./show.ts";
import type { Tree } from "./Tree.ts";
import { get, isTree, removeAll } from "./Tree.ts";
import { limits, readYaml } from "./yamlText.ts";

export interface Layer {
  /** The file's name in messages. */
  readonly origin: string;
  readonly tree: Tree;
}

/** veRL's files that RAGEN's files include. They are skipped, because their values are our defaults. */
const verlFiles: ReadonlySet<string> = new Set(["ppo_trainer", "ppo_megatron_trainer"]);

const fail = (message: string) => Effect.fail(new BadInput({ message }));

const maxPathLength = 200;

/** Shows a path in messages, relative to the working directory if it lies inside. */
export const showPath = (file: string): string => {
  const fromHere = relative(process.cwd(), file);
  const path = fromHere.startsWith("..") || isAbsolute(fromHere) ? file : fromHere;
  return showText(path, maxPathLength);
};

/** Files that only serve as includes and are no runs of their own. */
const presetsAndDefaults: ReadonlySet<string> = new Set(["base", "envs"]);

/** Returns the names of a folder's runs, for a list of choices. */
export const runNames = (dir: string): readonly string[] =>
  runFileNames(dir).filter((name) => !presetsAndDefaults.has(name));

/** Returns the names in a folder, none if it cannot be read. */
const fileNames = (dir: string): readonly string[] => {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
};

/** Returns the names of a folder's run files. */
export const runFileNames = (dir: string): readonly string[] =>
  fileNames(dir)
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => basename(file, ".yaml"))
    .sort();

const showName = (name: string): string => `"${showText(name, maxPathLength)}"`;

/** Returns the message for a missing path, with the nearest run file beside it or in `configDir`. */
const noSuchPath = (path: string, configDir: string): string => {
  const folder = dirname(path);
  const stem = basename(path).replace(/\.ya?ml$/, "");
  const beside = byNearest(stem, runFileNames(folder))[0];
  const named = byNearest(stem, isAbsolute(folder) ? [] : runFileNames(join(configDir, folder)))[0];
  const nearest = beside === undefined ? named : `${beside}.yaml`;
  return `no run file ${showName(path)}${nearest === undefined ? "" : `; nearest: ${showText(join(folder, nearest), maxPathLength)}`}`;
};

/**
 * Finds the file of a run: a name in `configDir`, or a path to a YAML file. Fails with the nearest name in `configDir`
 * and the names that `listed` returns.
 */
export const locate = (
  name: string,
  configDir: string,
  listed: (dir: string) => readonly string[] = runNames,
): Effect.Effect<string, BadInput> => {
  const file = join(configDir, name.endsWith(".yaml") ? name : `${name}.yaml`);
  if (existsSync(file)) return Effect.succeed(file);
  const asPath = /[/\\]|\.ya?ml$/.test(name);
  // Folders and pipes pass here; reading refuses them by name.
  if (asPath && existsSync(name)) return Effect.succeed(name);
  if (/[/\\]/.test(name)) return fail(noSuchPath(name, configDir));
  const stem = basename(name).replace(/\.ya?ml$/, "");
  const nearest = byNearest(stem, runFileNames(configDir))[0];
  const hint = nearest === undefined ? "" : `; nearest: ${nearest}; all: ${choices(stem, listed(configDir), 30)}`;
  return fail(`no run file ${showName(name)} in ${showPath(configDir)}${hint}`);
};

/** The bytes and files that one run may still read. */
interface Allowance {
  bytes: number;
  files: number;
}

/** Most files of one run; those of the package have three. */
const maxFiles = 64;

/** Reads one YAML file whose top level is a map. */
const readTree = (file: string, allowance: Allowance): Effect.Effect<Tree, BadInput> =>
  Effect.suspend(() => {
    const origin = showPath(file);
    if (allowance.files-- <= 0) return fail(`${origin}: defaults: more than ${maxFiles} files are included`);
    const text = readText(file, allowance.bytes);
    if (Result.isFailure(text)) return fail(`${origin}: ${text.failure}`);
    allowance.bytes -= text.success.length;
    const read = readYaml(text.success);
    if (Result.isFailure(read)) {
      const { offset, problem } = read.failure;
      return fail(`${origin}${offset === null ? "" : position(text.success, offset)}: not valid YAML: ${problem}`);
    }
    const tree = read.success ?? {};
    return isTree(tree) ? Effect.succeed(tree) : fail(`${origin}: expected a map of sections at the top level`);
  });

/** Returns `:line:column` of an offset. */
const position = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split("\n");
  return `:${before.length}:${(before.at(-1) ?? "").length + 1}`;
};

/** True for a name that can be part of a path. */
const isName = (name: unknown): name is string => typeof name === "string" && name.length < 256 && !name.includes("\0");

/** True for hydra's own settings, such as `override hydra/job_logging: disabled`. */
const isHydraEntry = (entry: unknown): boolean =>
  isTree(entry) && Object.keys(entry).every((key) => /^(override )?\/?hydra\//.test(key));

const includedNames = (origin: string, given: unknown): Effect.Effect<readonly string[], BadInput> => {
  const names = Array.isArray(given) ? given.filter((entry) => !isHydraEntry(entry)) : (given ?? []);
  if (Array.isArray(names) && names.every(isName)) return Effect.succeed(names);
  const group = Array.isArray(names) ? names.find(isTree) : undefined;
  const why = group === undefined ? "" : "; there are no config groups of hydra, name the file of a choice";
  return fail(`${origin}: defaults: ${showValue(group ?? given)}: expected a list of run file names${why}`);
};

/** Returns one path for a file, whichever name leads to it. */
const realPath = (file: string): string => {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
};

/** The settings that all files of one run are read with. */
interface IncludeContext {
  readonly configDir: string;
  readonly allowance: Allowance;
  /** A file whose presets replace those of `envs`, or null. */
  readonly envs: string | null;
}

/** Replaces included presets by the user's presets of the same tags. */
const replacePresets = (layers: readonly Layer[], users: readonly Layer[]): readonly Layer[] => {
  const tags = users.flatMap(({ tree }) => Object.keys(get(tree, ["custom_envs"]) ?? {}));
  const replaced = tags.map((tag) => ["custom_envs", tag]);
  return [...layers.map(({ origin, tree }) => ({ origin, tree: removeAll(tree, replaced) })), ...users];
};

const readLayers = (
  file: string,
  includers: readonly string[],
  context: IncludeContext,
): Effect.Effect<readonly Layer[], BadInput> =>
  Effect.gen(function* () {
    const { allowance, configDir, envs } = context;
    const origin = showPath(file);
    const path = realPath(file);
    if (includers.includes(path)) {
      const chain = [...includers, path].map((includer) => basename(includer, ".yaml"));
      return yield* fail(`${origin}: defaults: includes itself: ${showText(chain.join(" -> "), 200)}`);
    }
    const { defaults, ...tree } = yield* readTree(file, allowance);
    const names = yield* includedNames(origin, defaults);
    const order = names.includes("_self_") ? names : [...names, "_self_"];
    const layers: Layer[] = [];
    for (const name of order) {
      if (name === "_self_") layers.push({ origin, tree: withAbsoluteModulePaths(tree, dirname(file)) });
      else if (!verlFiles.has(name)) {
        const beside = join(dirname(file), `${name}.yaml`);
        const included = existsSync(beside) ? beside : yield* locate(name, configDir, runFileNames);
        const inner = yield* readLayers(included, [...includers, path], context);
        const replaces = name === "envs" && envs !== null;
        layers.push(
          ...(replaces ? replacePresets(inner, yield* readLayers(envs, [...includers, path], context)) : inner),
        );
      }
    }
    return layers;
  });

/**
 * Returns the layers of `file`, the most basic first. `envs` names a file of presets such as RAGEN's envs.yaml; its presets replace
 * those of the same tags in the file that is included as `envs`.
 */
export const layersOf = (
  file: string,
  configDir: string,
  envs: string | null = null,
): Effect.Effect<readonly Layer[], BadInput> =>
  Effect.gen(function* () {
    const users = envs === null ? null : yield* locate(envs, configDir, runFileNames);
    const allowance = { bytes: limits.characters, files: maxFiles };
    const layers = yield* readLayers(file, [], { allowance, configDir, envs: users });
    if (users === null || layers.some(({ origin }) => origin === showPath(users))) return layers;
    // The run file includes no presets.
    return [...(yield* readLayers(users, [], { allowance, configDir, envs: null })), ...layers];
  });
