/**
 * Reports RAGEN's and verl's keys that have no counterpart, once all layers are merged.
 * Keys that would change a run's result are problems; one message names the others, grouped by why they have no effect.
 */

import { showKey, showText, showValue } from "../show.ts";
import type { Path, Tree } from "../Tree.ts";
import { get, leaves } from "../Tree.ts";
import { meaningOf } from "./foreign.ts";
import type { Unavailable } from "./unavailable.ts";

export interface ForeignKeyReport {
  /** Keys that were set aside, by reason. */
  readonly aside: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly string[];
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns why a value is refused, or null if it changes nothing. */
const refusal = (
  path: Path,
  value: unknown,
  { because, inert, same: twin }: Unavailable,
  ours: Tree,
): string | null => {
  if (value === null || inert.some((inertValue) => isSame(inertValue, value))) return null;
  if (twin === undefined) return `${showKey(path)}: ${showValue(value)} has no counterpart: ${because}`;
  const other = get(ours, twin.split("."));
  if (isSame(other, value)) return null;
  return `${showKey(path)}: ${showValue(value)}: ${because}, and ${twin} is ${showValue(other)}; nearest: ${showValue(other)}`;
};

/** `ours` is the merged configuration; `origin` returns the layer that sets a key. */
export const reportForeignKeys = (
  foreign: Tree,
  ours: Tree,
  origin: (path: Path) => string | null,
): ForeignKeyReport => {
  const aside = new Map<string, string[]>();
  const problems: string[] = [];
  for (const { path, value } of leaves(foreign)) {
    if (path.length === 0) continue;
    const meaning = meaningOf(path);
    if (meaning._tag === "Unavailable") {
      const problem = refusal(path, value, meaning.entry, ours);
      if (problem !== null) problems.push(`${problem} (${origin(path) ?? "a file"})`);
    }
    if (meaning._tag === "Aside") aside.set(meaning.why, [...(aside.get(meaning.why) ?? []), path.join(".")]);
  }
  return { aside, problems };
};

const maxKeysOfSection = 10;

/** Lists keys with those of one section in braces; `*` stands for any preset's tag. */
const groupBySection = (keys: readonly string[]): string => {
  const bySection = new Map<string, Set<string>>();
  for (const key of keys) {
    const words = key.replace(/^custom_envs\.[^.]+\./, "custom_envs.*.").split(".");
    const section = words.slice(0, -1).join(".");
    bySection.set(section, (bySection.get(section) ?? new Set()).add(words.at(-1) ?? ""));
  }
  const parts = [...bySection].map(([section, found]) => {
    const names = [...found].slice(0, maxKeysOfSection).map((name) => showText(name));
    const more = found.size > names.length ? [`… ${found.size - names.length} more`] : [];
    const listed = [...names, ...more].join(", ");
    const braced = names.length + more.length === 1 ? listed : `{${listed}}`;
    return section === "" ? listed : `${showText(section)}.${braced}`;
  });
  return parts.join(", ");
};

const maxMessageLength = 6_000;

/** Returns the message about keys set aside and values translated, or null. */
export const asideMessage = (aside: ForeignKeyReport["aside"], notes: readonly string[]): string | null => {
  const count = [...aside.values()].reduce((sum, keys) => sum + keys.length, 0);
  const head = `${count} ${count === 1 ? "key is" : "keys are"} set aside, as nothing here depends on ${count === 1 ? "it" : "them"}:`;
  const lines = [
    ...notes,
    ...(count === 0 ? [] : [head, ...[...aside].map(([why, keys]) => `  ${why}: ${groupBySection(keys)}`)]),
  ];
  if (lines.length === 0) return null;
  const text = lines.join("\n");
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 3)}...` : text;
};
