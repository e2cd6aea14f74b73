/**
 * A run file as plain data: nested maps with string keys. Every function returns a new tree and leaves its arguments unchanged, in time
 * linear in their size. Lists are values: merging replaces them. `__proto__` is no key; whoever reads text refuses it.
 */

export interface Tree {
  readonly [key: string]: unknown;
}

export type Path = readonly string[];

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own key's value; inherited names such as `constructor` are no keys. */
const ownValue = (tree: Tree, key: string): unknown => (Object.hasOwn(tree, key) ? tree[key] : undefined);

export const get = (tree: unknown, path: Path): unknown => {
  let value = tree;
  for (const key of path) {
    if (!isTree(value)) return undefined;
    value = ownValue(value, key);
  }
  return value;
};

type Writable = Record<string, unknown>;

/** Copies each map that is changed once, however many changes there are. */
class Draft {
  readonly root: Writable;
  readonly #copies = new Map<unknown, Writable>();

  constructor(tree: Tree) {
    this.root = this.#copy(tree);
  }

  /** The map at a path, to be written to; made where there is none. */
  mapAt(path: Path): Writable {
    let node = this.root;
    for (const key of path) {
      const inner = this.#copy(ownValue(node, key));
      node[key] = inner;
      node = inner;
    }
    return node;
  }

  #copy(value: unknown): Writable {
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    const copy = isTree(value) ? { ...value } : {};
    this.#copies.set(copy, copy);
    return copy;
  }
}

export interface Change {
  readonly path: Path;
  readonly value: unknown;
}

/** `tree` with values set, one after the other. */
export const setAll = (tree: Tree, changes: Iterable<Change>): Tree => {
  const draft = new Draft(tree);
  for (const { path, value } of changes) {
    const key = path.at(-1);
    if (key !== undefined) draft.mapAt(path.slice(0, -1))[key] = value;
  }
  return draft.root;
};

export const set = (tree: Tree, path: Path, value: unknown): Tree => setAll(tree, [{ path, value }]);

/** `tree` without the values at these paths. */
export const removeAll = (tree: Tree, paths: Iterable<Path>): Tree => {
  const draft = new Draft(tree);
  for (const path of paths) {
    const key = path.at(-1);
    const section = path.slice(0, -1);
    if (key !== undefined && isTree(get(draft.root, section))) delete draft.mapAt(section)[key];
  }
  return draft.root;
};

/** `over` wins; an empty section (`null` in YAML) over a map changes nothing. */
export const merge = (under: Tree, over: Tree): Tree => {
  const merged: Writable = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const before = ownValue(under, key);
    if (isTree(before) && value === null) continue;
    merged[key] = isTree(before) && isTree(value) ? merge(before, value) : value;
  }
  return merged;
};

/** Every value that is not a non-empty map, with its path, in order. */
export function* eachLeaf(value: unknown, path: Path = []): Generator<Change> {
  if (!isTree(value) || Object.keys(value).length === 0) yield { path, value };
  else for (const [key, inner] of Object.entries(value)) yield* eachLeaf(inner, [...path, key]);
}

export const leaves = (value: unknown, path: Path = []): readonly Change[] => [...eachLeaf(value, path)];
