/**
 * Translates one layer: RAGEN's and verl's keys become ours, and those without a counterpart are kept apart.
 * They are judged when all layers are merged, by their last values.
 */

import { referencedKey, withAbsoluteKeys } from "../interpolate.ts";
import { showKey, showValue } from "../show.ts";
import type { Change, Path, Tree } from "../Tree.ts";
import { isTree, setAll } from "../Tree.ts";
import { ourSpelling, unsupportedLoggers } from "./aliases.ts";
import { isOurKey, isSection, meaningOf } from "./foreign.ts";

/** Stands for null, which unsets a key whatever earlier layers say. */
export const unset: unique symbol = Symbol("unset");

export interface Translation {
  /** The layer under our keys; unknown keys stay as they are. */
  readonly tree: Tree;
  /** Foreign keys without a counterpart, as written. */
  readonly foreign: Tree;
  /** One line for each part of a value that was dropped. */
  readonly notes: readonly string[];
}

/** Translates RAGEN's loggers to sinks, jsonl included, and returns those without a sink. */
const sinksOf = (loggers: unknown): { readonly sinks: readonly unknown[]; readonly without: readonly string[] } => {
  const named: readonly unknown[] = Array.isArray(loggers) ? loggers : [loggers];
  const hasSink = (name: unknown): boolean => typeof name !== "string" || !unsupportedLoggers.includes(name);
  return {
    sinks: [...new Set([...named.filter(hasSink), "jsonl"])],
    without: named.filter((name): name is string => typeof name === "string" && !hasSink(name)),
  };
};

/** RAGEN's keys that several places read. A narrower key in the same layer overrides them. */
const broad: ReadonlySet<string> = new Set(["model_path", "ppo_mini_batch_size", "seed.train", "seed.val"]);

export const translate = (layer: Tree): Translation => {
  const first: Change[] = [];
  const changes: Change[] = [];
  const foreign: Change[] = [];
  const notes: string[] = [];
  /** Adds the value of a renamed key. */
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
