/**
 * Exact cover by dancing links (Knuth, "Dancing Links", 2000): each option covers some items, and the search finds a choice that covers every item
 * once. The item with the fewest options left is covered first, so that forced choices come before guesses. Invariant: a matrix is never
 * changed; every search works on a copy of its links.
 */

export interface Matrix {
  readonly items: number;
  /** The links between items that are still to be covered; 0 is the root, and item i stands at i + 1. */
  readonly left: Int32Array;
  readonly right: Int32Array;
  /** The links between the nodes of an item; nodes up to `items` are the heads. */
  readonly up: Int32Array;
  readonly down: Int32Array;
  /** The head and the option of a node. */
  readonly head: Int32Array;
  readonly option: Int32Array;
  /** The number of options left, by head. */
  readonly count: Int32Array;
  /** The nodes of option o are `first[o]` to `first[o + 1] - 1`. */
  readonly first: Int32Array;
}

/** Makes a matrix; `options[o]` are the items of option o. */
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

export type CoverResult =
  | { readonly _tag: "Found"; readonly options: readonly number[] }
  | { readonly _tag: "None" }
  /** The search was given up. */
  | { readonly _tag: "Unknown" };

export interface CoverOptions {
  /** The options that are part of the choice from the start. */
  readonly chosen: readonly number[];
  /** An option that the choice must not have. */
  readonly excluded?: number;
  /** Orders an item's options for trial; without it they keep their order. */
  readonly arrange?: (options: readonly number[]) => readonly number[];
  /** The search is given up after so many tried options. */
  readonly budget: number;
}

/** A copy of a matrix's links, from which items and options are taken out and put back in the reverse order. */
class Links {
  readonly #matrix: Matrix;
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #up: Int32Array;
  readonly #down: Int32Array;
  readonly #count: Int32Array;
  readonly #covered: Uint8Array;

  constructor(matrix: Matrix) {
    this.#matrix = matrix;
    this.#left = matrix.left.slice();
    this.#right = matrix.right.slice();
    this.#up = matrix.up.slice();
    this.#down = matrix.down.slice();
    this.#count = matrix.count.slice();
    this.#covered = new Uint8Array(matrix.items + 1);
  }

  /** The item with the fewest options left; 0 when every item is covered. */
  scarcest(): number {
    let best = this.#right[0]!;
    for (let item = best; item !== 0; item = this.#right[item]!) {
      if (this.#count[item]! < this.#count[best]!) best = item;
      if (this.#count[best]! === 0) break;
    }
    return best;
  }

  /** The options left of an item. */
  optionsOf(item: number): number[] {
    const options: number[] = [];
    for (let row = this.#down[item]!; row !== item; row = this.#down[row]!) options.push(this.#matrix.option[row]!);
    return options;
  }

  /** Returns true if an option covers no item that is covered already. */
  fits(option: number): boolean {
    const { first, head } = this.#matrix;
    for (let node = first[option]!; node < first[option + 1]!; node++) {
      if (this.#covered[head[node]!] === 1) return false;
    }
    return true;
  }

  /** Takes an option out of all its items, for good. */
  exclude(option: number): void {
    const { first } = this.#matrix;
    for (let node = first[option]!; node < first[option + 1]!; node++) this.#unlink(node);
  }

  take(option: number): void {
    const { first, head } = this.#matrix;
    for (let node = first[option]!; node < first[option + 1]!; node++) this.#hide(head[node]!);
  }

  putBack(option: number): void {
    const { first, head } = this.#matrix;
    for (let node = first[option + 1]! - 1; node >= first[option]!; node--) this.#show(head[node]!);
  }

  /** Takes an item out, and every option that covers it out of the other items. */
  #hide(item: number): void {
    const { first, option } = this.#matrix;
    this.#covered[item] = 1;
    this.#right[this.#left[item]!] = this.#right[item]!;
    this.#left[this.#right[item]!] = this.#left[item]!;
    for (let row = this.#down[item]!; row !== item; row = this.#down[row]!) {
      const optionOfRow = option[row]!;
      for (let node = first[optionOfRow]!; node < first[optionOfRow + 1]!; node++) if (node !== row) this.#unlink(node);
    }
  }

  #show(item: number): void {
    const { first, option } = this.#matrix;
    for (let row = this.#up[item]!; row !== item; row = this.#up[row]!) {
      const optionOfRow = option[row]!;
      for (let node = first[optionOfRow + 1]! - 1; node >= first[optionOfRow]!; node--)
        if (node !== row) this.#relink(node);
    }
    this.#right[this.#left[item]!] = item;
    this.#left[this.#right[item]!] = item;
    this.#covered[item] = 0;
  }

  /** Changes the number of options left of a node's item. */
  #change(node: number, by: number): void {
    const head = this.#matrix.head[node]!;
    this.#count[head] = this.#count[head]! + by;
  }

  #unlink(node: number): void {
    this.#down[this.#up[node]!] = this.#down[node]!;
    this.#up[this.#down[node]!] = this.#up[node]!;
    this.#change(node, -1);
  }

  #relink(node: number): void {
    this.#down[this.#up[node]!] = node;
    this.#up[this.#down[node]!] = node;
    this.#change(node, 1);
  }
}

/** The first choice that covers every item. */
export const findCover = (matrix: Matrix, { arrange, budget, chosen, excluded }: CoverOptions): CoverResult => {
  const links = new Links(matrix);
  const choice: number[] = [];
  let tried = 0;
  /** Returns true if the rest is covered, false if it cannot be, null if the budget has run out. */
  const coverRest = (): boolean | null => {
    const item = links.scarcest();
    if (item === 0) return true;
    const options = links.optionsOf(item);
    for (const option of arrange === undefined ? options : arrange(options)) {
      if (tried++ >= budget) return null;
      links.take(option);
      choice.push(option);
      const result = coverRest();
      if (result !== false) return result;
      choice.pop();
      links.putBack(option);
    }
    return false;
  };

  if (excluded !== undefined) {
    if (chosen.includes(excluded)) return { _tag: "None" };
    links.exclude(excluded);
  }
  for (const option of chosen) {
    if (!links.fits(option)) return { _tag: "None" };
    links.take(option);
    choice.push(option);
  }
  const result = coverRest();
  return result === null ? { _tag: "Unknown" } : result ? { _tag: "Found", options: choice } : { _tag: "None" };
};
