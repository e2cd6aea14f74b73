/** The places of all exports on docs/api.md. Invariant: every export of the package stands in one group of its entry. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { type EntryLayout, entries, type Group } from "./groups.ts";
import { exportedFrom, isModule, keyOf, moduleAt, type Resolved } from "./modules.ts";

/** Headings with the anchors that GitHub gives them. */
class Anchors {
  readonly #counts = new Map<string, number>();

  add(title: string): string {
    const slug = title
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-");
    const count = this.#counts.get(slug) ?? 0;
    this.#counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  }
}

interface Place {
  readonly entry: string;
  readonly anchor: string;
}

/** An export in a group. */
export interface Item {
  readonly name: string;
  readonly resolved: Resolved;
  /** It has a heading and its whole declaration; else a row in the group's table. */
  readonly isHeaded: boolean;
  /** The anchor of its heading, or of its group. */
  readonly anchor: string;
  /** Another place that explains the same declaration; absent where this one does. */
  readonly explainedAt?: Place;
}

export interface PlacedGroup {
  readonly group: Group;
  readonly anchor: string;
  readonly items: readonly Item[];
}

export interface PlacedEntry {
  readonly entry: EntryLayout;
  readonly anchor: string;
  readonly groups: readonly PlacedGroup[];
}

/** The key of a declaration or a module. */
export const resolvedKey = (resolved: Resolved): string => (isModule(resolved) ? resolved.path : keyOf(resolved));

/** The files of the package's entries, by the name that is imported. */
const entryPaths = (): ReadonlyMap<string, string> => {
  const manifest: { readonly exports: Readonly<Record<string, string | { readonly types: string }>> } = JSON.parse(
    readFileSync(join(packageRoot, "package.json"), "utf8"),
  );
  return new Map(
    Object.entries(manifest.exports).flatMap(([name, target]) =>
      typeof target === "string"
        ? []
        : [[`millrace${name.slice(1)}`, target.types.replace("./dist/", "").replace(/\.d\.ts$/, ".ts")]],
    ),
  );
};

/** The exports of an entry. Throws where they are not those of its groups. */
const checkedExports = ({ groups, name }: EntryLayout, path: string): ReadonlyMap<string, Resolved> => {
  const exports = exportedFrom(moduleAt(path));
  const placed = groups.flatMap(({ headed = [], listed = [] }) => [...headed, ...listed]);
  const unplaced = [...exports.keys()].filter((exported) => !placed.includes(exported));
  const gone = placed.filter((exported) => !exports.has(exported));
  const place = "test/generators/api/groups.ts";
  if (unplaced.length > 0) throw new Error(`${name} exports ${unplaced.join(", ")}: place it in a group of ${place}`);
  if (gone.length > 0) throw new Error(`${name} does not export ${gone.join(", ")}: remove it from ${place}`);
  return exports;
};

/** Gives every heading its anchor, in the order of the page. */
const anchored = (): readonly PlacedEntry[] => {
  const anchors = new Anchors();
  anchors.add("API");
  const paths = entryPaths();
  const missing = [...paths.keys()].filter((name) => !entries.some((entry) => entry.name === name));
  if (missing.length > 0) throw new Error(`test/generators/api/groups.ts has no entry ${missing.join(", ")}`);
  return entries.map((entry) => {
    const exports = checkedExports(entry, paths.get(entry.name) ?? "package.json");
    const anchor = anchors.add(entry.name);
    const groups = entry.groups.map((group): PlacedGroup => {
      const groupAnchor = anchors.add(group.title);
      const place = (name: string, isHeaded: boolean): Item => {
        const resolved = exports.get(name)!;
        return { name, resolved, isHeaded, anchor: isHeaded ? anchors.add(name) : groupAnchor };
      };
      const { headed = [], listed = [] } = group;
      const items = [...headed.map((name) => place(name, true)), ...listed.map((name) => place(name, false))];
      return { group, anchor: groupAnchor, items };
    });
    return { entry, anchor, groups };
  });
};

/** The place that explains each declaration: its heading, or else its first row. */
const explanationsOf = (placed: readonly PlacedEntry[]): ReadonlyMap<string, Item & Place> => {
  const items = placed.flatMap(({ entry, groups }) =>
    groups.flatMap((group) => group.items.map((item) => ({ ...item, entry: entry.name }))),
  );
  const byPriority = [...items.filter(({ isHeaded }) => isHeaded), ...items.filter(({ isHeaded }) => !isHeaded)];
  return new Map(byPriority.toReversed().map((item) => [resolvedKey(item.resolved), item]));
};

/** All exports in their places. */
export const placeEntries = (): readonly PlacedEntry[] => {
  const placed = anchored();
  const explanations = explanationsOf(placed);
  const referred = (item: Item, entry: string): Item => {
    const explanation = explanations.get(resolvedKey(item.resolved));
    const isHere = explanation === undefined || (explanation.entry === entry && explanation.name === item.name);
    return isHere ? item : { ...item, explainedAt: { entry: explanation.entry, anchor: explanation.anchor } };
  };
  return placed.map((placedEntry) => ({
    ...placedEntry,
    groups: placedEntry.groups.map((group) => ({
      ...group,
      items: group.items.map((item) => referred(item, placedEntry.entry.name)),
    })),
  }));
};
