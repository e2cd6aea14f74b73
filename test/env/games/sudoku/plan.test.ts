/** Plans are legal move by move, easiest first, and find their way past wrong numbers. */
import { describe, expect, it } from "vitest";
import { type Board, candidates, empty, type Size, withCell } from "../../../../src/env/games/sudoku/Board.ts";
import { type Move, planTo, reasonFor } from "../../../../src/env/games/sudoku/plan.ts";

const solution = "1234341221434321";

/** Plays a plan, checking each move against the rules. */
const boardAfter = (size: Size, start: Board, plan: readonly Move[]): Board =>
  plan.reduce((board, { cell, symbol }) => {
    expect(board[cell]).not.toBe(symbol);
    expect(candidates(size, board, cell)).toContain(symbol);
    return withCell(board, cell, symbol);
  }, start);

describe("a plan", () => {
  it("fills the empty cells, one action each", () => {
    const start = "1..4.4..2..3.3.1";
    const plan = planTo(4, start, solution)!;
    expect(plan.length).toBe([...start].filter((symbol) => symbol === empty).length);
    expect(boardAfter(4, start, plan)).toBe(solution);
  });

  it("is empty at its end", () => {
    expect(planTo(4, solution, solution)).toEqual([]);
  });

  it("begins where only one number fits", () => {
    const start = withCell(withCell(withCell(solution, 1, empty), 10, empty), 11, empty);
    const [first] = planTo(4, start, solution)!;
    expect(reasonFor(4, start, first!)).toEqual({ _tag: "OnlyNumber" });
  });

  it("overwrites a wrong number that stands in the way", () => {
    // Legal where it stands, but the cell is the 2's.
    const start = withCell(empty.repeat(16), 1, "3");
    const plan = planTo(4, start, solution)!;
    expect(plan.length).toBe(16);
    expect(boardAfter(4, start, plan)).toBe(solution);
  });

  it("takes one of two numbers that block each other out of the way first", () => {
    const start = withCell(withCell(empty.repeat(16), 0, "2"), 1, "1");
    const plan = planTo(4, start, solution)!;
    expect(plan.length).toBe(17);
    expect(boardAfter(4, start, plan)).toBe(solution);
  });

  it("is null where wrong numbers leave no legal move", () => {
    // A full board of other numbers: every cell is blocked by its peers.
    const other = [...solution].map((symbol) => "2341"[Number(symbol) - 1]).join("");
    expect(planTo(4, other, solution)).toBeNull();
  });
});

describe("the reason", () => {
  it("is the only number, the only place, or one of several", () => {
    expect(reasonFor(4, "123.............", { cell: 3, symbol: "4" })).toEqual({ _tag: "OnlyNumber" });
    expect(reasonFor(4, "1..............1", { cell: 6, symbol: "1" })).toEqual({ _tag: "OnlyPlace", unit: "row" });
    expect(reasonFor(4, empty.repeat(16), { cell: 0, symbol: "1" })).toEqual({
      _tag: "OneOf",
      candidates: ["1", "2", "3", "4"],
    });
  });
});
