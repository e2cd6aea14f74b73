/**
 * A run file as plain data: nested maps with string keys. Every function returns a new tree and leaves its arguments unchanged. Lists are
 * values: merging replaces them.
 */

export interface Tree {
  readonly [key: string]: unknown;
}

export type Path = readonly string[];

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own key's value; inherited names such as `constructor` are no keys. */
const own = (tree: Tree, key: string): unknown => (Object.hasOwn(tree, key) ? tree[key] : undefined);

export const get = (tree: unknown, path: Path): unknown => {
  let value = tree;
  for (const key of path) {
    if (!isTree(value)) return undefined;
    value = own(value, key);
  }
  return value;
};

export const set = (tree: Tree, path: Path, value: unknown): Tree => {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  if (rest.length === 0) return { ...tree, [key]: value };
  const inner = own(tree, key);
  return { ...tree, [key]: set(isTree(inner) ? inner : {}, rest, value) };
};

export const remove = (tree: Tree, path: Path): Tree => {
  const [key, ...rest] = path;
  if (key === undefined || !Object.hasOwn(tree, key)) return tree;
  const { [key]: inner, ...others } = tree;
  if (rest.length === 0) return others;
  return isTree(inner) ? { ...tree, [key]: remove(inner, rest) } : tree;
};

/** `over` wins; an empty section (`null` in YAML) over a map changes nothing. */
export const merge = (under: Tree, over: Tree): Tree => {
  let merged = under;
  for (const [key, value] of Object.entries(over)) {
    const before = own(merged, key);
    if (isTree(before) && value === null) continue;
    merged = { ...merged, [key]: isTree(before) && isTree(value) ? merge(before, value) : value };
  }
  return merged;
};

/** Every value that is not a non-empty map, with its path. */
export const leaves = (
  value: unknown,
  path: Path = [],
): ReadonlyArray<{ readonly path: Path; readonly value: unknown }> =>
  isTree(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]))
    : [{ path, value }];
