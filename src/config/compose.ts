/**
 * Reads a run file and those it includes as layers: first the files of its `defaults:` list, then the file itself, unless the list has
 * `_self_` in another place. Later layers override earlier ones. Paths of modules are relative to the file that names them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { Effect } from "effect";
import { LineCounter, parseDocument } from "yaml";
import { BadInput } from "../domain/Errors.ts";
import { anchored } from "./modulePath.ts";
import { byNearest, choices } from "./nearest.ts";
import type { Tree } from "./Tree.ts";
import { isTree } from "./Tree.ts";

export interface Layer {
  /** The file, as a message names it. */
  readonly origin: string;
  readonly tree: Tree;
}

/** Files of veRL that RAGEN's files include; they are skipped, because their values are our defaults. */
const builtIn: ReadonlySet<string> = new Set(["ppo_trainer", "ppo_megatron_trainer"]);

const fail = (message: string) => Effect.fail(new BadInput({ message }));

/** A path as messages show it: relative to the working directory if it lies there. */
export const shownPath = (file: string): string => {
  const fromHere = relative(process.cwd(), file);
  return fromHere.startsWith("..") || isAbsolute(fromHere) ? file : fromHere;
};

/** Files that run files include: they can be loaded, but are no runs of their own. */
const included: ReadonlySet<string> = new Set(["base", "envs"]);

/** Names of the runs of a folder, for a list of choices. */
export const runs = (dir: string): readonly string[] => runFiles(dir).filter((name) => !included.has(name));

/** Names of the run files of a folder. */
export const runFiles = (dir: string): readonly string[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter((file) => file.endsWith(".yaml"))
        .map((file) => basename(file, ".yaml"))
        .sort()
    : [];

/** The message for a path without a file, with the nearest file beside it. */
const noSuchPath = (path: string): string => {
  const folder = dirname(path);
  const nearest = byNearest(
    basename(path),
    runFiles(folder).map((name) => `${name}.yaml`),
  )[0];
  return `no run file ${JSON.stringify(path)}${nearest === undefined ? "" : `; nearest: ${join(folder, nearest)}`}`;
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
  if (asPath && statSync(name, { throwIfNoEntry: false })?.isFile()) return Effect.succeed(name);
  if (/[/\\]/.test(name)) return fail(noSuchPath(name));
  const wanted = basename(name).replace(/\.ya?ml$/, "");
  const nearest = byNearest(wanted, runFiles(configDir))[0];
  const hint = nearest === undefined ? "" : `; nearest: ${nearest}; all: ${choices(wanted, listed(configDir), 30)}`;
  return fail(`no run file ${JSON.stringify(name)} in ${shownPath(configDir)}${hint}`);
};

/** Reads one YAML file whose top level is a map. */
export const readTree = (file: string): Effect.Effect<Tree, BadInput> =>
  Effect.gen(function* () {
    const origin = shownPath(file);
    const text = yield* Effect.try({
      try: () => readFileSync(file, "utf8"),
      catch: (error) => new BadInput({ message: `${origin}: cannot be read: ${String(error)}` }),
    });
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const [error] = document.errors;
    if (error !== undefined) {
      const { col, line } = lines.linePos(error.pos[0]);
      return yield* fail(`${origin}:${line}:${col}: not valid YAML: ${error.message}`);
    }
    const tree: unknown = document.toJS() ?? {};
    return isTree(tree) ? tree : yield* fail(`${origin}: expected a map of sections at the top level`);
  });

const includesOf = (origin: string, listed: unknown): Effect.Effect<readonly string[], BadInput> => {
  const names = listed ?? [];
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return Effect.succeed(names);
  return fail(`${origin}: defaults: ${JSON.stringify(listed)}: expected a list of run file names`);
};

/** The layers of `file`, the most basic first. */
export const layersOf = (
  file: string,
  configDir: string,
  including: readonly string[] = [],
): Effect.Effect<readonly Layer[], BadInput> =>
  Effect.gen(function* () {
    const origin = shownPath(file);
    if (including.includes(file)) {
      return yield* fail(`${origin}: defaults: includes itself: ${[...including, file].map(shownPath).join(" -> ")}`);
    }
    const { defaults, ...tree } = yield* readTree(file);
    const names = yield* includesOf(origin, defaults);
    const order = names.includes("_self_") ? names : [...names, "_self_"];
    const layers: Layer[] = [];
    for (const name of order) {
      if (name === "_self_") layers.push({ origin, tree: anchored(tree, dirname(file)) });
      else if (!builtIn.has(name)) {
        const beside = join(dirname(file), `${name}.yaml`);
        const included = existsSync(beside) ? beside : yield* locate(name, configDir, runFiles);
        layers.push(...(yield* layersOf(included, configDir, [...including, file])));
      }
    }
    return layers;
  });
