/** Whether a puzzle has no other solution, asked without trusting how it was dug: is there one that differs in this cell, or in that? */
import { empty, type Size } from "../../../src/environments/sudoku/Board.ts";
import { complete } from "../../../src/environments/sudoku/Completion.ts";
import type { Puzzle } from "../../../src/environments/sudoku/Puzzle.ts";

export const isUnique = (size: Size, { puzzle, solution }: Puzzle): boolean =>
  Array.from(puzzle, (symbol, cell) => ({ cell, symbol })).every(
    ({ cell, symbol }) =>
      symbol !== empty || complete(size, puzzle, { except: { cell, symbol: solution[cell]! } })._tag === "None",
  );
