/**
 * Reverse play: boxes start on their targets, and a depth-first search moves the player to free cells, dragging any box directly behind it. Every
 * state is visited once (the first path wins). A state scores (changes of the dragged box) x (sum of the boxes' Manhattan distances from their
 * targets), or 0 while a target is covered. The result is the first state with the best score.
 */
import { makeStateTable } from "./StateTable.ts";

/** A board whose cells are row-major indices; the outer ring is wall. */
export interface Board {
  readonly rows: number;
  readonly cols: number;
  /** The floor by cell: 1 for floor or a target, 0 for wall. */
  readonly floor: Uint8Array;
  readonly targets: readonly number[];
  readonly player: number;
}

export interface DisplacedBoxes {
  readonly player: number;
  /** The cell of each box, in the order of its own target. */
  readonly boxes: readonly number[];
  /** The sum of Manhattan distances of the boxes from their own targets. */
  readonly displacement: number;
  /** The moves of the search's path to this state; a shorter way back may exist. */
  readonly moves: number;
}

const maxStates = 300_000;

const manhattan = (cols: number, a: number, b: number): number =>
  Math.abs(Math.floor(a / cols) - Math.floor(b / cols)) + Math.abs((a % cols) - (b % cols));

/** The changes of a move, by which it is undone. */
interface Move {
  readonly offset: number;
  /** The dragged box; -1 for none. */
  readonly box: number;
  readonly wasDragged: number;
  readonly lastDragged: number;
  readonly swaps: number;
}

/** One state of the board, changed and undone in place. */
class SearchPosition {
  readonly #board: Board;
  readonly #isTarget: Uint8Array;
  readonly #boxes: number[];
  /** The label + 1 of the box on a cell; 0 if there is none. */
  readonly #boxAt: Uint8Array;
  /** 1 for a box that has been dragged. A box that was never dragged differs from one that came back to its target. */
  readonly #dragged: Uint8Array;
  /** The dense numbers of the walkable cells, by which a state packs into one integer. */
  readonly #cellNumber: Uint16Array;
  readonly #base: number;
  readonly #sorted: number[];
  #player: number;
  #lastDragged = -1;
  #swaps = 0;

  constructor(board: Board) {
    const { cols, floor, player, rows, targets } = board;
    this.#board = board;
    this.#player = player;
    this.#boxes = targets.slice();
    this.#isTarget = new Uint8Array(rows * cols);
    this.#boxAt = new Uint8Array(rows * cols);
    for (const [box, target] of targets.entries()) {
      this.#isTarget[target] = 1;
      this.#boxAt[target] = box + 1;
    }
    this.#dragged = new Uint8Array(targets.length);
    this.#cellNumber = new Uint16Array(rows * cols);
    let walkable = 0;
    for (let cell = 0; cell < floor.length; cell++) if (floor[cell] === 1) this.#cellNumber[cell] = walkable++;
    this.#base = 2 * walkable;
    this.#sorted = new Array<number>(targets.length).fill(0);
  }

  /** The state as one integer, in which boxes are interchangeable. */
  packed(): number {
    const sorted = this.#sorted;
    for (let box = 0; box < sorted.length; box++) {
      const value = 2 * this.#cellNumber[this.#boxes[box]!]! + this.#dragged[box]!;
      let at = box;
      while (at > 0 && sorted[at - 1]! > value) {
        sorted[at] = sorted[at - 1]!;
        at--;
      }
      sorted[at] = value;
    }
    let key = this.#cellNumber[this.#player]!;
    for (let box = 0; box < sorted.length; box++) key = key * this.#base + sorted[box]!;
    return key;
  }

  /** The number of changes of the dragged box, or 0 while a box or the player covers a target. */
  factor(): number {
    if (this.#swaps === 0 || this.#isTarget[this.#player] === 1) return 0;
    for (const cell of this.#boxes) if (this.#isTarget[cell] === 1) return 0;
    return this.#swaps;
  }

  displaced(moves: number): DisplacedBoxes {
    const { cols, targets } = this.#board;
    const displacement = this.#boxes.reduce((sum, cell, box) => sum + manhattan(cols, cell, targets[box]!), 0);
    return { player: this.#player, boxes: this.#boxes.slice(), displacement, moves };
  }

  /** Moves the player, with the box behind it if there is one; null if the way is not free. */
  move(offset: number): Move | null {
    const from = this.#player;
    const to = from + offset;
    if (this.#board.floor[to] !== 1 || this.#boxAt[to] !== 0) return null;
    const box = this.#boxAt[from - offset]! - 1;
    const wasDragged = box >= 0 ? this.#dragged[box]! : 0;
    const move: Move = { offset, box, wasDragged, lastDragged: this.#lastDragged, swaps: this.#swaps };
    if (box >= 0) {
      this.#dragged[box] = 1;
      this.#boxAt[from - offset] = 0;
      this.#boxAt[from] = box + 1;
      this.#boxes[box] = from;
      if (box !== this.#lastDragged) this.#swaps++;
      this.#lastDragged = box;
    }
    this.#player = to;
    return move;
  }

  undo({ box, lastDragged, offset, swaps, wasDragged }: Move): void {
    const from = this.#player - offset;
    if (box >= 0) {
      this.#boxAt[from] = 0;
      this.#boxAt[from - offset] = box + 1;
      this.#boxes[box] = from - offset;
      this.#dragged[box] = wasDragged;
    }
    this.#player = from;
    this.#lastDragged = lastDragged;
    this.#swaps = swaps;
  }
}

/** The best displaced state within `searchDepth` - 1 levels, including the root. */
export const reversePlay = (board: Board, searchDepth: number): DisplacedBoxes => {
  const offsets = [-board.cols, board.cols, -1, 1];
  const position = new SearchPosition(board);
  const visited = makeStateTable();
  let bestScore = 0;
  let best = position.displaced(0);
  /** Visits the state that is `moves` deep; false if it was visited before or the search is full. */
  const visit = (moves: number): boolean => {
    if (visited.size() >= maxStates || !visited.add(position.packed())) return false;
    const factor = position.factor();
    if (factor > 0) {
      const displaced = position.displaced(moves);
      const score = factor * displaced.displacement;
      if (score > bestScore) [bestScore, best] = [score, displaced];
    }
    return true;
  };

  // The path has the moves so far; `next` has the next direction to try at each level.
  const path: Move[] = [];
  const next: number[] = [0];
  visit(0);
  for (;;) {
    const depth = path.length;
    const direction = next[depth]!;
    if (direction === offsets.length || depth === searchDepth - 2) {
      const last = path.pop();
      if (last === undefined) return best;
      position.undo(last);
      continue;
    }
    next[depth] = direction + 1;
    const move = position.move(offsets[direction]!);
    if (move === null) continue;
    if (visit(depth + 1)) {
      path.push(move);
      next[path.length] = 0;
    } else position.undo(move);
  }
};
