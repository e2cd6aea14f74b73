/**
 * Reverse play: boxes start on their targets, and a depth-first search lets the player step to free cells while dragging any box
 * that stands directly behind it. Every state is visited once (the first path wins). A state scores
 * (times the dragged box changed) x (sum of Manhattan distances of the boxes from their own targets), or 0 while a box or the player
 * covers a target; the first state with the best score leaves.
 */
import { makeStateTable } from "./StateTable.ts";

/** Cells are row-major indices; the outer ring is wall. */
export interface Board {
  readonly rows: number;
  readonly cols: number;
  /** 1 where there is floor or a target. */
  readonly floor: Uint8Array;
  readonly targets: readonly number[];
  readonly player: number;
}

export interface Displaced {
  readonly player: number;
  /** Cell of each box, in the order of its own target. */
  readonly boxes: readonly number[];
  /** Sum of Manhattan distances of the boxes from their own targets. */
  readonly displacement: number;
}

const mostStates = 300_000;

/** The best displaced state within `searchDepth` - 1 levels, the root included. */
export const reversePlay = ({ rows, cols, floor, targets, player: start }: Board, searchDepth: number): Displaced => {
  const offsets = [-cols, cols, -1, 1];
  const count = targets.length;
  const isTarget = new Uint8Array(rows * cols);
  for (const target of targets) isTarget[target] = 1;

  // The state under the search, changed and undone in place.
  let player = start;
  let lastDragged = -1;
  let swaps = 0;
  const boxes = targets.slice();
  const boxAt = new Uint8Array(rows * cols); // label + 1
  for (let box = 0; box < count; box++) boxAt[boxes[box]!] = box + 1;
  // A box that was never dragged differs from one that came back to its target.
  const dragged = new Uint8Array(count);

  // Dense numbers of the walkable cells, so that a state packs into one integer.
  const number = new Uint16Array(rows * cols);
  let walkable = 0;
  for (let cell = 0; cell < floor.length; cell++) if (floor[cell] === 1) number[cell] = walkable++;
  const base = 2 * walkable;
  const sorted = new Array<number>(count).fill(0);
  const packed = (): number => {
    for (let box = 0; box < count; box++) {
      const value = 2 * number[boxes[box]!]! + dragged[box]!;
      let at = box;
      while (at > 0 && sorted[at - 1]! > value) {
        sorted[at] = sorted[at - 1]!;
        at--;
      }
      sorted[at] = value;
    }
    let key = number[player]!;
    for (let box = 0; box < count; box++) key = key * base + sorted[box]!;
    return key;
  };

  const displacement = (): number => {
    let sum = 0;
    for (let box = 0; box < count; box++) {
      const cell = boxes[box]!;
      const target = targets[box]!;
      sum += Math.abs(Math.floor(cell / cols) - Math.floor(target / cols)) + Math.abs((cell % cols) - (target % cols));
    }
    return sum;
  };

  const uncovered = (): boolean => {
    if (isTarget[player] === 1) return false;
    for (let box = 0; box < count; box++) if (isTarget[boxes[box]!] === 1) return false;
    return true;
  };

  const visited = makeStateTable();
  let bestScore = 0;
  let best: Displaced = { player, boxes: targets, displacement: 0 };
  /** Visits the state; false when it is known or the search is full. */
  const visit = (): boolean => {
    if (visited.size() >= mostStates || !visited.add(packed())) return false;
    if (swaps > 0 && uncovered()) {
      const moved = displacement();
      if (swaps * moved > bestScore) {
        bestScore = swaps * moved;
        best = { player, boxes: boxes.slice(), displacement: moved };
      }
    }
    return true;
  };

  // The path: of each level the next direction to try, and what its entering move changed.
  const next: number[] = [0];
  const entered: number[] = [0];
  const movedBox: number[] = [-1];
  const wasDragged: number[] = [0];
  const lastBefore: number[] = [-1];
  const swapsBefore: number[] = [0];
  const deepest = searchDepth - 2;
  let depth = 0;

  const undo = (): void => {
    const offset = offsets[entered[depth]!]!;
    const from = player - offset;
    const box = movedBox[depth]!;
    if (box >= 0) {
      boxAt[from] = 0;
      boxAt[from - offset] = box + 1;
      boxes[box] = from - offset;
      dragged[box] = wasDragged[depth]!;
    }
    player = from;
    lastDragged = lastBefore[depth]!;
    swaps = swapsBefore[depth]!;
    depth--;
  };

  visit();
  while (depth >= 0) {
    const direction = next[depth]!;
    if (direction === 4 || depth === deepest) {
      if (depth === 0) break;
      undo();
      continue;
    }
    next[depth] = direction + 1;
    const offset = offsets[direction]!;
    const to = player + offset;
    if (floor[to] !== 1 || boxAt[to] !== 0) continue;

    const behind = player - offset;
    const box = boxAt[behind]! - 1;
    depth++;
    next[depth] = 0;
    entered[depth] = direction;
    movedBox[depth] = box;
    lastBefore[depth] = lastDragged;
    swapsBefore[depth] = swaps;
    if (box >= 0) {
      wasDragged[depth] = dragged[box]!;
      dragged[box] = 1;
      boxAt[behind] = 0;
      boxAt[player] = box + 1;
      boxes[box] = player;
      if (box !== lastDragged) swaps++;
      lastDragged = box;
    }
    player = to;
    if (!visit()) undo();
  }
  return best;
};
