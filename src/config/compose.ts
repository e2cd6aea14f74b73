/**
 * Reads a run file and those it includes as layers: first the files of its `defaults:` list, then the file itself, unless the list has
 * `_self_` in another place. Later layers override earlier ones. Paths of modules are relative to the file that names them.
 */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { Effect, Result } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { anchored } from "./modulePath.ts";
import { byNearest, choices } from "./nearest.ts";
import { readText } from "./readText.ts";
import { shown, shownText } from "./shown.ts";
import type { Tree } from "./Tree.ts";
import { get, isTree, removeAll } from "./Tree.ts";
import { limits, readYaml } from "./yamlText.ts";

export interface Layer {
  /** The file, as a message names it. */
  readonly origin: string;
  readonly tree: Tree;
}

/** Files of veRL that RAGEN's files include; they are skipped, because their values are our defaults. */
const builtIn: ReadonlySet<string> = new Set(["ppo_trainer", "ppo_megatron_trainer"]);

const fail = (message: string) => Effect.fail(new BadInput({ message }));

const longestPath = 200;

/** A path as messages show it: relative to the working directory if it lies there. */
export const shownPath = (file: string): string => {
  const fromHere = relative(process.cwd(), file);
  const path = fromHere.startsWith("..") || isAbsolute(fromHere) ? file : fromHere;
  return shownText(path, longestPath);
};

/** Files that run files include: they can be loaded, but are no runs of their own. */
const included: ReadonlySet<string> = new Set(["base", "envs"]);

/** Names of the runs of a folder, for a list of choices. */
export const runs = (dir: string): readonly string[] => runFiles(dir).filter((name) => !included.has(name));

/** Names in a folder; none where it is no folder or cannot be read. */
const entries = (dir: string): readonly string[] => {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
};

/** Names of the run files of a folder. */
export const runFiles = (dir: string): readonly string[] =>
  entries(dir)
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => basename(file, ".yaml"))
    .sort();

const shownName = (name: string): string => `"${shownText(name, longestPath)}"`;

/** The message for a path without a file, with the nearest file beside it, in the working directory or in `configDir`. */
const noSuchPath = (path: string, configDir: string): string => {
  const folder = dirname(path);
  const wanted = basename(path).replace(/\.ya?ml$/, "");
  const beside = byNearest(wanted, runFiles(folder))[0];
  const named = byNearest(wanted, isAbsolute(folder) ? [] : runFiles(join(configDir, folder)))[0];
  const nearest = beside === undefined ? named : `${beside}.yaml`;
  return `no run file ${shownName(path)}${nearest === undefined ? "" : `; nearest: ${shownText(join(folder, nearest), longestPath)}`}`;
};

/**
 * The file of a run: a name in `configDir`, or a path to a YAML file. Fails with the nearest name of any file there, and with those that
 * `listed` gives.
 */
export const locate = (
  name: string,
  configDir: string,
  listed: (dir: string) => readonly string[] = runs,
): Effect.Effect<string, BadInput> => {
  const file = join(configDir, name.endsWith(".yaml") ? name : `${name}.yaml`);
  if (existsSync(file)) return Effect.succeed(file);
  const asPath = /[/\\]|\.ya?ml$/.test(name);
  // What is no file (a folder, a pipe) is refused by name when it is read.
  if (asPath && existsSync(name)) return Effect.succeed(name);
  if (/[/\\]/.test(name)) return fail(noSuchPath(name, configDir));
  const wanted = basename(name).replace(/\.ya?ml$/, "");
  const nearest = byNearest(wanted, runFiles(configDir))[0];
  const hint = nearest === undefined ? "" : `; nearest: ${nearest}; all: ${choices(wanted, listed(configDir), 30)}`;
  return fail(`no run file ${shownName(name)} in ${shownPath(configDir)}${hint}`);
};

/** What the files of one run may still be long, in bytes and in number. */
interface Allowance {
  bytes: number;
  files: number;
}

/** A run of the package has three files. */
const mostFiles = 64;

/** Reads one YAML file whose top level is a map. */
const readTree = (file: string, allowance: Allowance): Effect.Effect<Tree, BadInput> =>
  Effect.suspend(() => {
    const origin = shownPath(file);
    if (allowance.files-- <= 0) return fail(`${origin}: defaults: more than ${mostFiles} files are included`);
    const text = readText(file, allowance.bytes);
    if (Result.isFailure(text)) return fail(`${origin}: ${text.failure}`);
    allowance.bytes -= text.success.length;
    const read = readYaml(text.success);
    if (Result.isFailure(read)) {
      const { at, problem } = read.failure;
      return fail(`${origin}${at === null ? "" : position(text.success, at)}: not valid YAML: ${problem}`);
    }
    const tree = read.success ?? {};
    return isTree(tree) ? Effect.succeed(tree) : fail(`${origin}: expected a map of sections at the top level`);
  });

/** `:line:column` of an offset. */
const position = (text: string, at: number): string => {
  const before = text.slice(0, at).split("\n");
  return `:${before.length}:${(before.at(-1) ?? "").length + 1}`;
};

/** Whether a file of the list can be named in a path. */
const isName = (name: unknown): name is string => typeof name === "string" && name.length < 256 && !name.includes("\0");

/** Hydra's choice for its own machinery: `override hydra/job_logging: disabled`. */
const isHydras = (entry: unknown): boolean =>
  isTree(entry) && Object.keys(entry).every((key) => /^(override )?\/?hydra\//.test(key));

const includesOf = (origin: string, given: unknown): Effect.Effect<readonly string[], BadInput> => {
  const names = Array.isArray(given) ? given.filter((entry) => !isHydras(entry)) : (given ?? []);
  if (Array.isArray(names) && names.every(isName)) return Effect.succeed(names);
  const group = Array.isArray(names) ? names.find(isTree) : undefined;
  const why = group === undefined ? "" : "; there are no config groups of hydra, name the file of a choice";
  return fail(`${origin}: defaults: ${shown(group ?? given)}: expected a list of run file names${why}`);
};

/** One file on disk, under whichever name. */
const identity = (file: string): string => {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
};

/** What stays the same while the files of one run are read. */
interface Reading {
  readonly configDir: string;
  readonly allowance: Allowance;
  /** A file whose presets replace those of `envs`, or null. */
  readonly envs: string | null;
}

/** The layers of the included presets, those of the user's file in place of presets with the same tags. */
const replacingPresets = (layers: readonly Layer[], users: readonly Layer[]): readonly Layer[] => {
  const tags = users.flatMap(({ tree }) => Object.keys(get(tree, ["custom_envs"]) ?? {}));
  const replaced = tags.map((tag) => ["custom_envs", tag]);
  return [...layers.map(({ origin, tree }) => ({ origin, tree: removeAll(tree, replaced) })), ...users];
};

const including = (
  file: string,
  includers: readonly string[],
  reading: Reading,
): Effect.Effect<readonly Layer[], BadInput> =>
  Effect.gen(function* () {
    const { allowance, configDir, envs } = reading;
    const origin = shownPath(file);
    const here = identity(file);
    if (includers.includes(here)) {
      const chain = [...includers, here].map((path) => basename(path, ".yaml"));
      return yield* fail(`${origin}: defaults: includes itself: ${shownText(chain.join(" -> "), 200)}`);
    }
    const { defaults, ...tree } = yield* readTree(file, allowance);
    const names = yield* includesOf(origin, defaults);
    const order = names.includes("_self_") ? names : [...names, "_self_"];
    const layers: Layer[] = [];
    for (const name of order) {
      if (name === "_self_") layers.push({ origin, tree: anchored(tree, dirname(file)) });
      else if (!builtIn.has(name)) {
        const beside = join(dirname(file), `${name}.yaml`);
        const included = existsSync(beside) ? beside : yield* locate(name, configDir, runFiles);
        const inner = yield* including(included, [...includers, here], reading);
        const replaces = name === "envs" && envs !== null;
        layers.push(
          ...(replaces ? replacingPresets(inner, yield* including(envs, [...includers, here], reading)) : inner),
        );
      }
    }
    return layers;
  });

/**
 * The layers of `file`, the most basic first. `envs` names a file of presets, as RAGEN's envs.yaml is one: each of its presets stands in
 * place of the one with the same tag in the file that is included as `envs`.
 */
export const layersOf = (
  file: string,
  configDir: string,
  envs: string | null = null,
): Effect.Effect<readonly Layer[], BadInput> =>
  Effect.gen(function* () {
    const users = envs === null ? null : yield* locate(envs, configDir, runFiles);
    const allowance = { bytes: limits.characters, files: mostFiles };
    const layers = yield* including(file, [], { allowance, configDir, envs: users });
    if (users === null || layers.some(({ origin }) => origin === shownPath(users))) return layers;
    // A run file that includes no presets.
    return [...(yield* including(users, [], { allowance, configDir, envs: null })), ...layers];
  });
