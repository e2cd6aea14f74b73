/** The laws of a move: merges, what it keeps, and its symmetry under turning and mirroring the board. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Cells,
  directions,
  emptyCells,
  movableDirections,
  slide,
  tileValue,
} from "../../../../src/env/games/game_2048/Board.ts";
import { assertProperty } from "../../../property.ts";

const [up, right, down, left] = [0, 1, 2, 3] as const;

/** A move of one row, the tiles as shown. */
const row = (tiles: readonly number[], direction: number): readonly number[] => {
  const cells = [...tiles.map((shown) => (shown === 0 ? 0 : Math.log2(shown))), ...Array<number>(12).fill(0)];
  return slide(4, cells, direction).cells.slice(0, 4).map(tileValue);
};

describe("a row", () => {
  it.each([
    [
      [2, 2, 2, 2],
      [4, 4, 0, 0],
    ],
    [
      [4, 4, 8, 0],
      [8, 8, 0, 0],
    ],
    [
      [8, 4, 4, 0],
      [8, 8, 0, 0],
    ],
    [
      [2, 2, 2, 0],
      [4, 2, 0, 0],
    ],
    [
      [2, 0, 0, 2],
      [4, 0, 0, 0],
    ],
    [
      [2, 4, 2, 4],
      [2, 4, 2, 4],
    ],
    [
      [0, 0, 0, 2],
      [2, 0, 0, 0],
    ],
    [
      [4, 2, 2, 4],
      [4, 4, 4, 0],
    ],
    [
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ],
    [
      [65_536, 65_536, 2, 2],
      [131_072, 4, 0, 0],
    ],
  ])("%j goes left to %j", (before, after) => {
    expect(row(before, left)).toEqual(after);
    expect(row(before.toReversed(), right)).toEqual(after.toReversed());
  });

  it("merges next to the side it slides to", () => {
    expect(row([2, 2, 2, 0], right)).toEqual([0, 0, 2, 4]);
  });
});

describe("a board", () => {
  const cells: Cells = [1, 0, 2, 3, 1, 0, 2, 3, 0, 0, 0, 3, 2, 0, 2, 0];

  it.each([
    [up, [2, 0, 3, 4, 2, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0], 4 + 8 + 16],
    [down, [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 3, 2, 0, 3, 4], 4 + 8 + 16],
    [right, [0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0, 3, 0, 0, 0, 3], 8],
    [left, [1, 2, 3, 0, 1, 2, 3, 0, 3, 0, 0, 0, 3, 0, 0, 0], 8],
  ])("moves in direction %i", (direction, after, points) => {
    expect(slide(4, cells, direction)).toEqual({ cells: after, points });
  });

  it("is the very same where nothing moves", () => {
    const stuck: Cells = [1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 2, 1, 2, 1];
    for (const direction of directions.keys()) expect(slide(4, stuck, direction).cells).toBe(stuck);
    expect(movableDirections(4, stuck)).toEqual([]);
    expect(movableDirections(4, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).toEqual([right, down]);
    expect(movableDirections(4, stuck.with(15, 2))).toEqual([up, right, down, left]);
  });
});

/** A quarter turn clockwise: what points up then points right. */
const turned = (size: number, cells: Cells): Cells =>
  cells.map((_, index) => cells[(size - 1 - (index % size)) * size + Math.floor(index / size)]!);

/** Left and right exchanged. */
const mirrored = (size: number, cells: Cells): Cells =>
  cells.map((_, index) => cells[Math.floor(index / size) * size + size - 1 - (index % size)]!);

/** Points that building the tiles from twos takes. */
const built = (cells: Cells): number =>
  cells.reduce((sum, exponent) => sum + (exponent === 0 ? 0 : tileValue(exponent) * (exponent - 1)), 0);

const total = (cells: Cells): number => cells.reduce((sum, exponent) => sum + tileValue(exponent), 0);

describe("any move of any board", () => {
  const boards = fc.integer({ min: 2, max: 5 }).chain((size) =>
    fc.record({
      size: fc.constant(size),
      // Few kinds of tile, so that merges are frequent.
      cells: fc.array(fc.constantFrom(0, 0, 1, 1, 2, 3, 16), { minLength: size * size, maxLength: size * size }),
    }),
  );
  const holds = (law: (size: number, cells: Cells, direction: number) => void): void =>
    assertProperty(
      fc.property(boards, fc.nat(3), ({ cells, size }, direction) => law(size, cells, direction)),
      { numRuns: 300 },
    );

  it("turns with the board", () => {
    holds((size, cells, direction) => {
      const there = slide(size, turned(size, cells), (direction + 1) % 4);
      const here = slide(size, cells, direction);
      expect(there).toEqual({ cells: turned(size, here.cells), points: here.points });
    });
  });

  it("is mirrored with the board", () => {
    holds((size, cells, direction) => {
      const mirror = [up, left, down, right][direction]!;
      const there = slide(size, mirrored(size, cells), mirror);
      const here = slide(size, cells, direction);
      expect(there).toEqual({ cells: mirrored(size, here.cells), points: here.points });
    });
  });

  it("keeps the sum of the tiles and scores what its merges build", () => {
    holds((size, cells, direction) => {
      const { cells: after, points } = slide(size, cells, direction);
      expect(total(after)).toBe(total(cells));
      expect(points).toBe(built(after) - built(cells));
    });
  });

  it("leaves no gap before a tile, and a gap more for every merge", () => {
    holds((size, cells, direction) => {
      // Seen with the tiles sliding left.
      let seen = slide(size, cells, direction).cells;
      for (let turn = direction; turn !== left; turn++) seen = turned(size, seen);
      for (let from = 0; from < seen.length; from += size) {
        const line = seen.slice(from, from + size);
        expect(line.lastIndexOf(0) < 0 || line.slice(line.indexOf(0)).every((exponent) => exponent === 0)).toBe(true);
      }
      expect(emptyCells(seen).length).toBeGreaterThanOrEqual(emptyCells(cells).length);
    });
  });

  it("merges a tile once, in pairs from the side it slides to", () => {
    holds((size, cells, direction) => {
      // The same by lists: tiles of each line in the order they arrive.
      let board = cells;
      for (let turn = direction; turn !== left; turn++) board = turned(size, board);
      let seen = slide(size, cells, direction).cells;
      for (let turn = direction; turn !== left; turn++) seen = turned(size, seen);
      for (let from = 0; from < board.length; from += size) {
        const waiting = board.slice(from, from + size).filter((exponent) => exponent > 0);
        const line: number[] = [];
        while (waiting.length > 0) {
          const first = waiting.shift()!;
          if (waiting[0] === first) line.push(waiting.shift()! + 1);
          else line.push(first);
        }
        expect(seen.slice(from, from + size)).toEqual([...line, ...Array<number>(size - line.length).fill(0)]);
      }
    });
  });
});
