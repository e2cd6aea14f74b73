/** The in-place search equals the plain recursive one, which copies its state at every move. */
import { describe, expect, it } from "vitest";
import { stream } from "../../../../src/domain/Random.ts";
import { type Board, type DisplacedBoxes, reversePlay } from "../../../../src/env/games/sokoban/ReversePlay.ts";

/** The published procedure, word for word: recursion, copies, a set of written-out states. */
const oracle = ({ rows, cols, floor, targets, player: start }: Board, searchDepth: number): DisplacedBoxes => {
  interface Node {
    readonly player: number;
    readonly boxes: readonly number[];
    readonly dragged: readonly boolean[];
    readonly last: number;
    readonly swaps: number;
  }
  const explored = new Set<string>();
  let bestScore = -1;
  let best: DisplacedBoxes = { player: start, boxes: targets, displacement: 0, moves: 0 };
  const distance = (a: number, b: number): number =>
    Math.abs(Math.floor(a / cols) - Math.floor(b / cols)) + Math.abs((a % cols) - (b % cols));
  const visit = (node: Node, left: number, moves = 0): void => {
    if (left - 1 <= 0) return;
    const written = Array.from({ length: rows * cols }, (_, cell) => {
      const box = node.boxes.indexOf(cell);
      if (box >= 0) return node.dragged[box] ? "3" : "4";
      return cell === node.player ? "5" : targets.includes(cell) ? "2" : String(floor[cell]);
    });
    const key = written.join("");
    if (explored.has(key)) return;
    explored.add(key);
    const displacement = node.boxes.reduce((sum, cell, box) => sum + distance(cell, targets[box]!), 0);
    const bare = written.filter((code) => code === "2").length === targets.length;
    const score = bare ? node.swaps * displacement : 0;
    if (score > bestScore) {
      bestScore = score;
      best = { player: node.player, boxes: node.boxes, displacement, moves };
    }
    for (const offset of [-cols, cols, -1, 1]) {
      const to = node.player + offset;
      if (floor[to] !== 1 || node.boxes.includes(to)) continue;
      const box = node.boxes.indexOf(node.player - offset);
      visit(
        {
          player: to,
          boxes: node.boxes.map((cell, at) => (at === box ? node.player : cell)),
          dragged: node.dragged.map((was, at) => was || at === box),
          last: box >= 0 ? box : node.last,
          swaps: node.swaps + (box >= 0 && box !== node.last ? 1 : 0),
        },
        left - 1,
        moves + 1,
      );
    }
  };
  visit({ player: start, boxes: targets, dragged: targets.map(() => false), last: -1, swaps: 0 }, searchDepth);
  return best;
};

const boardOf = (seed: number, rows: number, cols: number, boxes: number): Board => {
  const random = stream({ seed, purpose: "instance", counters: [rows, cols, boxes] });
  const floor = new Uint8Array(rows * cols);
  for (let row = 1; row < rows - 1; row++) {
    for (let col = 1; col < cols - 1; col++) if (random.uniform() < 0.9) floor[row * cols + col] = 1;
  }
  const cells = random.shuffle([...floor.keys()].filter((cell) => floor[cell] === 1));
  const [player = 0, ...rest] = cells;
  return { rows, cols, floor, player, targets: rest.slice(0, boxes).sort((a, b) => a - b) };
};

describe("reversePlay", () => {
  it.each([
    { boxes: 1, searchDepth: 300, boards: 60 },
    { boxes: 1, searchDepth: 10, boards: 60 },
    { boxes: 2, searchDepth: 30, boards: 20 },
    { boxes: 3, searchDepth: 12, boards: 10 },
  ])("finds the first best state: $boxes boxes, depth $searchDepth", ({ boxes, searchDepth, boards }) => {
    let moved = 0;
    for (let seed = 0; seed < boards; seed++) {
      const board = boardOf(seed, 7, 6, boxes);
      const found = reversePlay(board, searchDepth);
      expect(found).toEqual(oracle(board, searchDepth));
      if (found.displacement > 0) moved++;
    }
    expect(moved).toBeGreaterThan(boards / 4);
  });

  it("never leaves a box or the player on a target", () => {
    for (let seed = 0; seed < 50; seed++) {
      const board = boardOf(seed, 7, 7, 2);
      const { boxes, displacement, player } = reversePlay(board, 20);
      if (displacement > 0) expect([...boxes, player].filter((cell) => board.targets.includes(cell))).toEqual([]);
    }
  });

  it("stays where it is when no box can be dragged", () => {
    const floor = new Uint8Array(25);
    for (const cell of [6, 7, 11, 12]) floor[cell] = 1;
    const board: Board = { rows: 5, cols: 5, floor, targets: [6], player: 12 };
    expect(reversePlay(board, 300)).toEqual({ player: 12, boxes: [6], displacement: 0, moves: 0 });
  });
});
