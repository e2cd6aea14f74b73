/**
 * Exact cover by dancing links (Knuth, "Dancing Links", 2000): options that each cover some items enter, a choice that covers every item
 * once leaves. The item with the fewest options left is covered first, so that what is forced is done before anything is tried.
 * Invariant: a matrix is never changed; every search works on a copy of its links.
 */

export interface Matrix {
  readonly items: number;
  /** Links between items that are still to be covered; 0 is the root, item i stands at i + 1. */
  readonly left: Int32Array;
  readonly right: Int32Array;
  /** Links between the nodes of an item; nodes up to `items` are the heads. */
  readonly up: Int32Array;
  readonly down: Int32Array;
  /** Head and option of a node. */
  readonly head: Int32Array;
  readonly option: Int32Array;
  /** Options left, by head. */
  readonly count: Int32Array;
  /** The nodes of option o are `first[o]` to `first[o + 1] - 1`. */
  readonly first: Int32Array;
}

/** `options[o]` are the items of option o. */
export const matrixOf = (items: number, options: readonly (readonly number[])[]): Matrix => {
  const nodes = 1 + items + options.reduce((sum, option) => sum + option.length, 0);
  const matrix: Matrix = {
    items,
    left: Int32Array.from({ length: items + 1 }, (_, at) => (at + items) % (items + 1)),
    right: Int32Array.from({ length: items + 1 }, (_, at) => (at + 1) % (items + 1)),
    up: Int32Array.from({ length: nodes }, (_, at) => at),
    down: Int32Array.from({ length: nodes }, (_, at) => at),
    head: Int32Array.from({ length: nodes }, (_, at) => at),
    option: new Int32Array(nodes).fill(-1),
    count: new Int32Array(items + 1),
    first: new Int32Array(options.length + 1),
  };
  let node = items + 1;
  for (const [option, covered] of options.entries()) {
    matrix.first[option] = node;
    for (const item of covered) {
      const head = item + 1;
      const last = matrix.up[head]!;
      matrix.down[last] = node;
      matrix.up[node] = last;
      matrix.down[node] = head;
      matrix.up[head] = node;
      matrix.head[node] = head;
      matrix.option[node] = option;
      matrix.count[head] = matrix.count[head]! + 1;
      node++;
    }
  }
  matrix.first[options.length] = node;
  return matrix;
};

export type Cover =
  | { readonly _tag: "Found"; readonly options: readonly number[] }
  | { readonly _tag: "None" }
  /** The search was given up. */
  | { readonly _tag: "Unknown" };

export interface Question {
  /** Options that are part of the choice. */
  readonly chosen: readonly number[];
  /** An option that is not. */
  readonly excluded?: number;
  /** The order in which an item's options are tried; as given where absent. */
  readonly arrange?: (options: readonly number[]) => readonly number[];
  /** Options tried before the search is given up. */
  readonly budget: number;
}

/** The first choice that covers every item. */
export const cover = (matrix: Matrix, { arrange, budget, chosen, excluded }: Question): Cover => {
  const { first, head, option } = matrix;
  const left = matrix.left.slice();
  const right = matrix.right.slice();
  const up = matrix.up.slice();
  const down = matrix.down.slice();
  const count = matrix.count.slice();
  const covered = new Uint8Array(matrix.items + 1);
  let tried = 0;

  const unlink = (node: number): void => {
    down[up[node]!] = down[node]!;
    up[down[node]!] = up[node]!;
    count[head[node]!] = count[head[node]!]! - 1;
  };
  const relink = (node: number): void => {
    down[up[node]!] = node;
    up[down[node]!] = node;
    count[head[node]!] = count[head[node]!]! + 1;
  };
  /** Takes an item out, and every option that covers it out of the other items. */
  const hide = (item: number): void => {
    covered[item] = 1;
    right[left[item]!] = right[item]!;
    left[right[item]!] = left[item]!;
    for (let row = down[item]!; row !== item; row = down[row]!) {
      const of = option[row]!;
      for (let node = first[of]!; node < first[of + 1]!; node++) if (node !== row) unlink(node);
    }
  };
  const show = (item: number): void => {
    for (let row = up[item]!; row !== item; row = up[row]!) {
      const of = option[row]!;
      for (let node = first[of + 1]! - 1; node >= first[of]!; node--) if (node !== row) relink(node);
    }
    right[left[item]!] = item;
    left[right[item]!] = item;
    covered[item] = 0;
  };
  const take = (of: number): void => {
    for (let node = first[of]!; node < first[of + 1]!; node++) hide(head[node]!);
  };
  const putBack = (of: number): void => {
    for (let node = first[of + 1]! - 1; node >= first[of]!; node--) show(head[node]!);
  };
  const scarcest = (): number => {
    let best = right[0]!;
    for (let item = best; item !== 0; item = right[item]!) {
      if (count[item]! < count[best]!) best = item;
      if (count[best]! === 0) break;
    }
    return best;
  };

  const choice: number[] = [];
  /** True where the rest is covered, false where it cannot be, null where the budget ran out. */
  const rest = (): boolean | null => {
    if (right[0] === 0) return true;
    const item = scarcest();
    const options: number[] = [];
    for (let row = down[item]!; row !== item; row = down[row]!) options.push(option[row]!);
    for (const of of arrange === undefined ? options : arrange(options)) {
      if (tried++ >= budget) return null;
      take(of);
      choice.push(of);
      const found = rest();
      if (found !== false) return found;
      choice.pop();
      putBack(of);
    }
    return false;
  };

  if (excluded !== undefined && chosen.includes(excluded)) return { _tag: "None" };
  if (excluded !== undefined) for (let node = first[excluded]!; node < first[excluded + 1]!; node++) unlink(node);
  for (const of of chosen) {
    for (let node = first[of]!; node < first[of + 1]!; node++) if (covered[head[node]!] === 1) return { _tag: "None" };
    take(of);
    choice.push(of);
  }
  const found = rest();
  return found === null ? { _tag: "Unknown" } : found ? { _tag: "Found", options: choice } : { _tag: "None" };
};
