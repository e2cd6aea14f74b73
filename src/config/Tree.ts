/**
 * A run file as plain data: nested maps with text keys. Functions return a new tree in linear time and leave their arguments unchanged.
 * Lists are values, so merging replaces them. `__proto__` is no key: the readers of text refuse it.
 */

export interface Tree {
  readonly [key: string]: unknown;
}

export type Path = readonly string[];

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the value of a key; inherited names such as `constructor` are no keys. */
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

/** A tree under change: each changed map is copied once, however many changes it gets. */
class Draft {
  readonly root: Writable;
  readonly #copies = new Map<unknown, Writable>();

  constructor(tree: Tree) {
    this.root = this.#copy(tree);
  }

  /** Returns the writable map at a path, and creates missing ones. */
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
    const existing = this.#copies.get(value);
    if (existing !== undefined) return existing;
    const copy = isTree(value) ? { ...value } : {};
    this.#copies.set(copy, copy);
    return copy;
  }
}

export interface Change {
  readonly path: Path;
  readonly value: unknown;
}

/** Returns `tree` with the values set in order. */
export const setAll = (tree: Tree, changes: Iterable<Change>): Tree => {
  const draft = new Draft(tree);
  for (const { path, value } of changes) {
    const key = path.at(-1);
    if (key !== undefined) draft.mapAt(path.slice(0, -1))[key] = value;
  }
  return draft.root;
};

export const set = (tree: Tree, path: Path, value: unknown): Tree => setAll(tree, [{ path, value }]);

/** Returns `tree` without the values at these paths. */
export const removeAll = (tree: Tree, paths: Iterable<Path>): Tree => {
  const draft = new Draft(tree);
  for (const path of paths) {
    const key = path.at(-1);
    const section = path.slice(0, -1);
    if (key !== undefined && isTree(get(draft.root, section))) delete draft.mapAt(section)[key];
  }
  return draft.root;
};

/** Merges two trees; `over` wins, but an empty section (`null` in YAML) leaves a map as it is. */
export const merge = (under: Tree, over: Tree): Tree => {
  const merged: Writable = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const before = ownValue(under, key);
    if (isTree(before) && value === null) continue;
    merged[key] = isTree(before) && isTree(value) ? merge(before, value) : value;
  }
  return merged;
};

/** Yields each value that is not a non-empty map, with its path, in order. */
export function* eachLeaf(value: unknown, path: Path = []): Generator<Change> {
  if (!isTree(value) || Object.keys(value).length === 0) yield { path, value };
  else for (const [key, inner] of Object.entries(value)) yield* eachLeaf(inner, [...path, key]);
}

export const leaves = (value: unknown, path: Path = []): readonly Change[] => [...eachLeaf(value, path)];
