/** Geometry, candidates and conflicts of boards. */
import { describe, expect, it } from "vitest";
import {
  candidates,
  conflicts,
  empty,
  geometry,
  isSolved,
  numberOf,
  symbolOf,
} from "../../../../src/env/games/sudoku/Board.ts";

describe("the geometry", () => {
  it.each([
    [4, 7],
    [9, 20],
    [16, 39],
  ] as const)("of %i rows gives every cell %i peers and every unit as many cells as rows", (size, peers) => {
    expect(geometry(size).peers.every((peersOfCell) => peersOfCell.length === peers)).toBe(true);
    expect(geometry(size).units.length).toBe(3 * size);
    expect(geometry(size).units.every((unit) => unit.length === size)).toBe(true);
  });

  it("puts row 2, column 3 of 9 rows into the first box", () => {
    expect(geometry(9).unitsOf[11]).toEqual([1, 9 + 2, 18]);
  });
});

describe("symbols", () => {
  it("go from 1 to 9 and from A to G", () => {
    const numbers = Array.from({ length: 16 }, (_, at) => at + 1);
    expect(numbers.map(symbolOf).join("")).toBe("123456789ABCDEFG");
    expect(numbers.map((number) => numberOf(symbolOf(number)))).toEqual(numbers);
    expect(numberOf(empty)).toBe(0);
  });
});

describe("candidates", () => {
  it("are what row, column and box leave", () => {
    expect(candidates(4, "12....3.........", 2)).toEqual(["4"]);
    expect(candidates(4, empty.repeat(16), 5)).toEqual(["1", "2", "3", "4"]);
  });
});

describe("conflicts", () => {
  it.each([
    ["a row", "1..1............", [0, 3]],
    ["a column", "1...........1...", [0, 12]],
    ["a box", "1....1..........", [0, 5]],
    ["nothing", "1.....1.........", []],
  ])("in %s are both cells", (_, board, expected) => {
    expect(conflicts(4, board)).toEqual(expected);
  });
});

describe("a board", () => {
  it("is solved when it is full and free of conflicts", () => {
    expect(isSolved(4, "1234341221434321")).toBe(true);
    expect(isSolved(4, "123434122143432.")).toBe(false);
    expect(isSolved(4, "1234341221434322")).toBe(false);
  });
});
