/**
 * Shortest solutions of Sokoban rooms with any number of boxes, by breadth-first search over (player, boxes), in which boxes are interchangeable. A
 * box is never pushed onto a cell from which no sequence of pushes reaches a target. The search is bounded by `maxStates`.
 */
import { makeStateTable } from "./StateTable.ts";

export interface Puzzle {
  readonly cols: number;
  /** The row-major cells: 0 wall, 1 floor, 2 target. */
  readonly layout: string;
  readonly player: number;
  readonly boxes: readonly number[];
}

const maxStates = 500_000;

/** The cells from which a lone box can be pushed to some target, found by pulling from the targets. */
const liveCells = (layout: string, offsets: readonly number[]): Uint8Array => {
  const live = new Uint8Array(layout.length);
  const queue: number[] = [];
  for (let cell = 0; cell < layout.length; cell++) {
    if (layout[cell] !== "2") continue;
    live[cell] = 1;
    queue.push(cell);
  }
  for (let head = 0; head < queue.length; head++) {
    for (const offset of offsets) {
      const from = queue[head]! - offset;
      const stand = from - offset;
      if (layout[from] === "0" || live[from] === 1 || stand < 0 || stand >= layout.length || layout[stand] === "0")
        continue;
      live[from] = 1;
      queue.push(from);
    }
  }
  return live;
};

/** The directions up, down, left, right as differences of cells. */
const offsetsOf = (cols: number): readonly number[] => [-cols, cols, -1, 1];

/** Packs (player, boxes in ascending order) into one integer. It holds the current state, which is the one unpacked last. */
class StateCodec {
  /** The boxes of the current state, ascending. */
  readonly boxes: number[];
  /** The cells with a box of the current state: 1 for a box. */
  readonly boxAt: Uint8Array;
  readonly #cells: readonly number[];
  readonly #number: Uint16Array;
  readonly #pushed: number[];

  constructor({ boxes, layout }: Puzzle) {
    this.boxes = boxes.slice().sort((a, b) => a - b);
    this.boxAt = new Uint8Array(layout.length);
    this.#cells = [...layout].flatMap((tile, cell) => (tile === "0" ? [] : [cell]));
    this.#number = new Uint16Array(layout.length);
    for (const [number, cell] of this.#cells.entries()) this.#number[cell] = number;
    this.#pushed = new Array<number>(boxes.length).fill(0);
  }

  /** Returns true if every state is an exact integer. */
  fit(): boolean {
    return (this.boxes.length + 1) * Math.log2(this.#cells.length) <= 53;
  }

  pack(player: number, boxes: readonly number[] = this.boxes): number {
    let key = 0;
    for (const box of boxes) key = key * this.#cells.length + this.#number[box]!;
    return key * this.#cells.length + this.#number[player]!;
  }

  /** Makes a state the current one; returns the player's cell. */
  unpack(state: number): number {
    const base = this.#cells.length;
    for (const box of this.boxes) this.boxAt[box] = 0;
    let rest = Math.floor(state / base);
    for (let box = this.boxes.length - 1; box >= 0; box--) {
      const cell = this.#cells[rest % base]!;
      this.boxes[box] = cell;
      this.boxAt[cell] = 1;
      rest = Math.floor(rest / base);
    }
    return this.#cells[state % base]!;
  }

  /** The boxes of the current state after a push from `from` to `to`, ascending; the array is valid until the next call. */
  push(from: number, to: number): readonly number[] {
    const pushed = this.#pushed;
    for (let box = 0; box < pushed.length; box++) {
      const cell = this.boxes[box] === from ? to : this.boxes[box]!;
      let slot = box;
      while (slot > 0 && pushed[slot - 1]! > cell) {
        pushed[slot] = pushed[slot - 1]!;
        slot--;
      }
      pushed[slot] = cell;
    }
    return pushed;
  }
}

/** The directions (0 up, 1 down, 2 left, 3 right) of a shortest solution; null if there is none within the bound. */
export const shortestSolution = (puzzle: Puzzle): readonly number[] | null => {
  const { cols, layout, player } = puzzle;
  const offsets = offsetsOf(cols);
  const codec = new StateCodec(puzzle);
  if (!codec.fit()) return null;
  const live = liveCells(layout, offsets);
  const solved = (boxes: readonly number[]): boolean => boxes.every((box) => layout[box] === "2");
  if (solved(codec.boxes)) return [];

  const visited = makeStateTable();
  const states = [codec.pack(player)];
  const parents = [-1];
  const moves = [-1];
  visited.add(states[0]!);
  const pathTo = (last: number): number[] => {
    const path: number[] = [];
    for (let at = last; at > 0; at = parents[at]!) path.push(moves[at]!);
    return path.reverse();
  };

  for (let head = 0; head < states.length; head++) {
    const at = codec.unpack(states[head]!);
    for (const [direction, offset] of offsets.entries()) {
      const to = at + offset;
      const beyond = to + offset;
      const pushes = codec.boxAt[to] === 1;
      if (layout[to] === "0" || (pushes && (live[beyond] === 0 || codec.boxAt[beyond] === 1))) continue;
      const boxes = pushes ? codec.push(to, beyond) : codec.boxes;
      const state = codec.pack(to, boxes);
      if (!visited.add(state)) continue;
      states.push(state);
      parents.push(head);
      moves.push(direction);
      if (pushes && solved(boxes)) return pathTo(states.length - 1);
      if (states.length >= maxStates) return null;
    }
  }
  return null;
};
