/** Checks independently of the generator that a puzzle has one solution: no cell has a completion that differs there. */
import { empty, type Size } from "../../../../src/env/games/sudoku/Board.ts";
import { complete } from "../../../../src/env/games/sudoku/Completion.ts";
import type { Puzzle } from "../../../../src/env/games/sudoku/Puzzle.ts";

export const isUnique = (size: Size, { puzzle, solution }: Puzzle): boolean =>
  Array.from(puzzle, (symbol, cell) => ({ cell, symbol })).every(
    ({ cell, symbol }) =>
      symbol !== empty || complete(size, puzzle, { except: { cell, symbol: solution[cell]! } })._tag === "None",
  );
