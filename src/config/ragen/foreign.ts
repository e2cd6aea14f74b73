/**
 * Classifies RAGEN's and verl's keys by the most specific table entry: renamed, handled by a rule, unavailable, set aside, or unknown.
 * A key of our schema is always ours, whatever the tables say.
 */

import { keyInfos } from "../describe.ts";
import { RunConfig } from "../RunConfig.ts";
import type { Path } from "../Tree.ts";
import { aliases, ownEntry } from "./aliases.ts";
import { inertKeys } from "./inertKeys.ts";
import { ruleKeys } from "./rules.ts";
import { type Unavailable, unavailable } from "./unavailable.ts";

export type Meaning =
  | { readonly _tag: "Ours" }
  | { readonly _tag: "Renamed"; readonly to: string }
  | { readonly _tag: "ByRule" }
  | { readonly _tag: "Unavailable"; readonly entry: Unavailable }
  | { readonly _tag: "Aside"; readonly why: string };

const ourKeys: ReadonlySet<string> = new Set(keyInfos(RunConfig).map(({ key }) => key));

const aside: ReadonlyMap<string, string> = new Map(
  inertKeys.flatMap(({ keys, why }) => keys.map((key) => [key, why] as const)),
);

/** Every RAGEN key that is understood, for suggestions. */
export const foreignKeys: readonly string[] = [
  ...Object.keys(aliases),
  ...ruleKeys,
  ...Object.keys(unavailable),
  ...aside.keys(),
];

const wildcard = (key: string): string => key.replace(/^custom_envs\.[^.]+\./, "custom_envs.*.");

/** Sections that contain keys of ours or of the tables; an `env_config` is none. */
const sections: ReadonlySet<string> = new Set(
  [...foreignKeys, ...ourKeys].flatMap((key) => {
    const words = key.split(".");
    return words.slice(1).map((_, index) => words.slice(0, index + 1).join("."));
  }),
);

/** True for a leaf of our schema. */
export const isOurKey = (path: Path): boolean => ourKeys.has(path.join("."));

/** True for a section that can contain known keys. */
export const isSection = (path: Path): boolean => sections.has(wildcard(`${path.join(".")}.`).slice(0, -1));

/** Returns the meaning of exactly this key, or null if no table names it. */
const ownMeaning = (key: string): Meaning | null => {
  if (ourKeys.has(key)) return { _tag: "Ours" };
  const to = ownEntry(aliases, key);
  if (to !== undefined) return { _tag: "Renamed", to };
  if (ruleKeys.includes(key)) return { _tag: "ByRule" };
  const refusal = ownEntry(unavailable, key);
  if (refusal !== undefined) return { _tag: "Unavailable", entry: refusal };
  const why = aside.get(wildcard(key));
  return why === undefined ? null : { _tag: "Aside", why };
};

/** Returns a key's meaning, by its own entry or that of the nearest enclosing section. */
export const meaningOf = (path: Path): Meaning => {
  for (let length = path.length; length > 0; length--) {
    const meaning = ownMeaning(path.slice(0, length).join("."));
    // The meaning of a renamed section, or of ours, does not extend to its keys.
    if (meaning !== null && (length === path.length || meaning._tag === "Aside" || meaning._tag === "Unavailable"))
      return meaning;
  }
  // verl names a section's class by _target_.
  return path.at(-1) === "_target_" ? { _tag: "Aside", why: "classes of verl" } : { _tag: "Ours" };
};
