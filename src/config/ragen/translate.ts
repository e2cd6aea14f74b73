/**
 * Translates one layer of a run: RAGEN's and verl's keys become ours where there is one that does the same, and are kept apart where there is
 * none, so that their last values can be judged when all layers are known.
 */

import { referencedKey, withAbsoluteKeys } from "../interpolate.ts";
import { showKey, showValue } from "../show.ts";
import type { Change, Path, Tree } from "../Tree.ts";
import { isTree, setAll } from "../Tree.ts";
import { ourSpelling, unsupportedLoggers } from "./aliases.ts";
import { isOurKey, isSection, meaningOf } from "./foreign.ts";

/** Stands for null, which means that a key is not set, whatever earlier layers say. */
export const unset: unique symbol = Symbol("unset");

export interface Translation {
  /** Under our keys; a key that nobody knows is kept as it is. */
  readonly tree: Tree;
  /** Keys that have none of ours, as they were written. */
  readonly foreign: Tree;
  /** What was left out of a value, one line each. */
  readonly notes: readonly string[];
}

/** RAGEN's loggers as sinks, metrics.jsonl among them, and those that there is no sink for. */
const sinksOf = (loggers: unknown): { readonly sinks: readonly unknown[]; readonly without: readonly string[] } => {
  const named: readonly unknown[] = Array.isArray(loggers) ? loggers : [loggers];
  const known = (name: unknown): boolean => typeof name !== "string" || !unsupportedLoggers.includes(name);
  return {
    sinks: [...new Set([...named.filter(known), "jsonl"])],
    without: named.filter((name): name is string => typeof name === "string" && !known(name)),
  };
};

/** Keys of RAGEN's that stand for all places that read them: a narrower key beside them in one layer counts, as a value counts over null. */
const broad: ReadonlySet<string> = new Set(["model_path", "ppo_mini_batch_size", "seed.train", "seed.val"]);

export const translate = (layer: Tree): Translation => {
  const first: Change[] = [];
  const changes: Change[] = [];
  const foreign: Change[] = [];
  const notes: string[] = [];
  /** A key that is ours under another name. */
  const rename = (path: Path, to: string, value: unknown): void => {
    if (referencedKey(value) === to) return;
    const into = value === null || broad.has(path.join(".")) ? first : changes;
    if (to !== "metrics.sinks" || value === null || referencedKey(value) !== null) {
      into.push({ path: to.split("."), value: value === null ? unset : ourSpelling(to, value) });
      return;
    }
    const { sinks, without } = sinksOf(value);
    for (const name of without) notes.push(`${showKey(path)}: there is no sink for ${showValue(name)}; it is left out`);
    into.push({ path: to.split("."), value: sinks });
  };
  const visit = (node: Tree, section: Path): void => {
    for (const [name, written] of Object.entries(node)) {
      const path = [...section, name];
      const value = withAbsoluteKeys(written, section);
      const inside = isTree(value) && Object.keys(value).length > 0;
      const meaning = meaningOf(path);
      if (meaning._tag === "Renamed") rename(path, meaning.to, value);
      else if (inside && isSection(path)) visit(value, path);
      else if (meaning._tag !== "Ours") foreign.push({ path, value });
      else if (value === null && isOurKey(path) && !isSection(path)) changes.push({ path, value: unset });
      else if (value !== null || !isSection(path)) changes.push({ path, value: ourSpelling(path.join("."), value) });
    }
  };
  visit(layer, []);
  return { tree: setAll({}, [...first, ...changes]), foreign: setAll({}, foreign), notes };
};
