/** Pictures of Sudoku are the boards that the environment plays. */
import { describe, expect, it } from "vitest";
import type { Random } from "../../../../../src/domain/Random.ts";
import { conflicts, numberOf, type Size } from "../../../../../src/env/games/sudoku/Board.ts";
import { Sudoku } from "../../../../../src/env/games/sudoku/Sudoku.ts";
import type { SudokuState } from "../../../../../src/env/games/sudoku/SudokuState.ts";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { statesOf } from "./states.ts";

const draw = (text: string, first?: string) => drawingOf({ env_type: "sudoku", env_config: {} }, text, first);

/** Numbers on empty cells, right ones and any others. */
const act = ({ puzzle, solution }: SudokuState, random: Random): string => {
  const size = Math.sqrt(puzzle.length);
  const cell = random.pick(Array.from(puzzle, (_, at) => at).filter((at) => puzzle[at] === "."));
  const number = random.uniform() < 0.5 ? numberOf(solution[cell]!) : 1 + random.int(size);
  return `place ${number} at row ${Math.floor(cell / size) + 1} col ${(cell % size) + 1}`;
};

const cellsOf = ({ board, puzzle }: SudokuState, givens: boolean) => {
  const wrong = new Set(conflicts(Math.sqrt(board.length) as Size, board));
  return Array.from(board, (symbol, cell) => ({
    number: numberOf(symbol),
    given: givens ? puzzle[cell] !== "." : null,
    conflict: wrong.has(cell),
  }));
};

const formats = ["simple", "detailed", "with_feedback"] as const;
const sizes = [4, 9, 16] as const;

describe("a drawing of Sudoku", () => {
  it.each(sizes.flatMap((size) => formats.map((format) => [size, format] as const)))(
    "has every cell of the state: %i, %s",
    (grid_size, render_format) => {
      for (const rules of ["refuse", "keep"]) {
        const config = { grid_size, render_format, conflicts: rules, unique: false, show_candidates: true };
        const states = statesOf(Sudoku, config, { seeds: 2, actions: 12, act });
        expect(states.length).toBeGreaterThan(5);
        for (const { compact, full, state } of states) {
          expect(draw(full)).toMatchObject({ kind: "sudoku", cells: cellsOf(state, render_format !== "simple") });
          expect(draw(compact)).toMatchObject({ kind: "sudoku", cells: cellsOf(state, false) });
        }
      }
    },
  );

  it("is told a puzzle's own numbers by the first board of the episode", () => {
    const states = statesOf(Sudoku, { render_format: "simple" }, { seeds: 1, actions: 25, act });
    const [first] = states;
    for (const { compact, full, state } of states) {
      expect(draw(full, first!.full)).toMatchObject({ cells: cellsOf(state, true) });
      expect(draw(compact, first!.compact)).toMatchObject({ cells: cellsOf(state, true) });
    }
  });

  it("takes no numbers from the first board of another puzzle", () => {
    const [one] = statesOf(Sudoku, {}, { seeds: 1, actions: 0 });
    const other = statesOf(Sudoku, {}, { seeds: 2, actions: 0 })[1];
    expect(draw(one!.compact, other!.compact)).toMatchObject({ cells: cellsOf(one!.state, false) });
  });

  it.each([
    ["a number too high", "1 2 | 3 4\n---------\n. . | . 5\n. . | . .\n. . | . ."],
    ["a row too few", "1 2 | 3 4\n. . | . .\n. . | . ."],
    ["a cell too few in a row", "1 2 | 3\n. . | . .\n. . | . .\n. . | . ."],
    ["letters", "1 2 | 3 a\n. . | . .\n. . | . .\n. . | . ."],
    ["a size that is none", "12345\n.....\n.....\n.....\n....."],
    ["words", "place 5 at row 1 col 1"],
  ])("is not made of a text with %s", (_, text) => {
    expect(draw(text)).toBeNull();
  });
});
