/**
 * Shortest solutions of Sokoban rooms with any number of boxes, by breadth-first search over (player, boxes), boxes taken alike.
 * A box is never pushed onto a cell from which no sequence of pushes reaches a target. The search is bounded by `mostStates`.
 */
import { makeStateTable } from "./StateTable.ts";

export interface Puzzle {
  readonly cols: number;
  /** Row-major cells: 0 wall, 1 floor, 2 target. */
  readonly layout: string;
  readonly player: number;
  readonly boxes: readonly number[];
}

const mostStates = 500_000;

/** Cells from which a lone box can be pushed to some target (found by pulling from the targets). */
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

/**
 * Directions (0 up, 1 down, 2 left, 3 right) of a shortest solution; null when there is none within the bound.
 */
export const shortestSolution = ({ cols, layout, player, boxes }: Puzzle): readonly number[] | null => {
  const offsets = [-cols, cols, -1, 1];
  const count = boxes.length;
  const cells: number[] = [];
  const number = new Uint16Array(layout.length);
  for (let cell = 0; cell < layout.length; cell++) {
    if (layout[cell] === "0") continue;
    number[cell] = cells.length;
    cells.push(cell);
  }
  const base = cells.length;
  if ((count + 1) * Math.log2(base) > 53) return null;
  const live = liveCells(layout, offsets);

  // `held` is the state in hand: boxes ascending, and their occupancy.
  const held = boxes.slice().sort((a, b) => a - b);
  const boxAt = new Uint8Array(layout.length);
  const pack = (at: number, list: readonly number[]): number => {
    let key = 0;
    for (const box of list) key = key * base + number[box]!;
    return key * base + number[at]!;
  };
  const solved = (): boolean => held.every((box) => layout[box] === "2");
  if (solved()) return [];

  const visited = makeStateTable();
  const states = [pack(player, held)];
  const parents = [-1];
  const moves = [-1];
  visited.add(states[0]!);
  const walk = (last: number): number[] => {
    const path: number[] = [];
    for (let at = last; at > 0; at = parents[at]!) path.push(moves[at]!);
    return path.reverse();
  };

  const pushed = new Array<number>(count).fill(0);
  for (let head = 0; head < states.length; head++) {
    for (const box of held) boxAt[box] = 0;
    let rest = states[head]!;
    const at = cells[rest % base]!;
    rest = Math.floor(rest / base);
    for (let box = count - 1; box >= 0; box--) {
      held[box] = cells[rest % base]!;
      boxAt[held[box]!] = 1;
      rest = Math.floor(rest / base);
    }
    for (let direction = 0; direction < 4; direction++) {
      const offset = offsets[direction]!;
      const to = at + offset;
      if (layout[to] === "0") continue;
      let key: number;
      let done = false;
      if (boxAt[to] === 0) {
        key = pack(to, held);
      } else {
        const beyond = to + offset;
        if (live[beyond] === 0 || boxAt[beyond] === 1) continue;
        done = layout[beyond] === "2";
        for (let box = 0; box < count; box++) {
          const cell = held[box] === to ? beyond : held[box]!;
          if (layout[cell] !== "2") done = false;
          let slot = box;
          while (slot > 0 && pushed[slot - 1]! > cell) {
            pushed[slot] = pushed[slot - 1]!;
            slot--;
          }
          pushed[slot] = cell;
        }
        key = pack(to, pushed);
      }
      if (!visited.add(key)) continue;
      states.push(key);
      parents.push(head);
      moves.push(direction);
      if (done) return walk(states.length - 1);
      if (states.length >= mostStates) return null;
    }
  }
  return null;
};
