/**
 * JSON as W&B reads it: numbers that are not finite stay, as NaN, Infinity and -Infinity. Values of a record are items, each a path with
 * its JSON text; a name with dots or slashes is one part of a path.
 */

export interface Item {
  readonly path: readonly string[];
  readonly json: string;
}

/** The text of plain data. A value that JSON cannot express (undefined, functions) is null. */
export const textOf = (value: unknown): string => {
  if (typeof value === "number") return numberText(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${textOf(inner)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
};

const numberText = (value: number): string => (Number.isFinite(value) ? JSON.stringify(value) : String(value));

export const item = (name: string, value: unknown): Item => ({ path: [name], json: textOf(value) });

/** One item for each field of an object. */
export const itemsOf = (name: string, fields: Readonly<Record<string, unknown>>): readonly Item[] =>
  Object.entries(fields).map(([field, value]) => ({ path: [name, field], json: textOf(value) }));

type Tree = Map<string, Tree | string>;

/** All items as one object; of two items with the same path the last one counts. */
export const objectOf = (items: Iterable<Item>): string => {
  const root: Tree = new Map();
  for (const { path, json } of items) {
    let node = root;
    for (const part of path.slice(0, -1)) {
      const next = node.get(part);
      const inner: Tree = next instanceof Map ? next : new Map();
      node.set(part, inner);
      node = inner;
    }
    const last = path.at(-1);
    if (last !== undefined) node.set(last, json);
  }
  return treeText(root);
};

const treeText = (tree: Tree): string =>
  `{${[...tree].map(([key, value]) => `${JSON.stringify(key)}:${typeof value === "string" ? value : treeText(value)}`).join(",")}}`;

/** The newest item of each path, such as a run's summary after some updates. */
export class Latest {
  readonly #items = new Map<string, Item>();

  add(items: Iterable<Item>): void {
    for (const next of items)
      this.#items.set(next.path.length === 1 ? (next.path[0] ?? "") : next.path.join("\0"), next);
  }

  copy(): Latest {
    const copy = new Latest();
    copy.add(this.#items.values());
    return copy;
  }

  get text(): string {
    return objectOf(this.#items.values());
  }
}
