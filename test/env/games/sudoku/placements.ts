/** Texts that a model may write for a Sudoku: mostly the solution's number in some spelling, now and then something else. */
import type { SudokuState } from "../../../../src/env/games/sudoku/SudokuState.ts";
import type { Act } from "../../contract/players.ts";

const spellings: readonly ((row: number, column: number, number: number) => string)[] = [
  (row, column, number) => `place ${number} at row ${row} col ${column}`,
  (row, column, number) => `place ${number} at (${row},${column})`,
  (row, column, number) => `place ${number} at ${row},${column}`,
  (row, column, number) => `${number} at ${row},${column}`,
  (row, column, number) => `(${row},${column},${number})`,
  (row, column, number) => `${row},${column},${number}`,
];

const nonsense = ["", "hello", "place 5", "place 10 at row 2 col 3", "0,1,1", "1,1", "place 5 at row 2 col 99"];

export const placement: Act = (state, random) => {
  const { board, solution } = state as SudokuState;
  const size = Math.sqrt(board.length);
  if (random.uniform() < 0.1) return random.pick(nonsense);
  const any = random.uniform() < 0.2;
  const open = Array.from(board, (_, cell) => cell).filter((cell) => any || board[cell] !== solution[cell]);
  const cell = random.pick(open);
  const number = any ? 1 + random.int(size) : Number.parseInt(solution[cell]!, 17);
  return random.pick(spellings)(Math.floor(cell / size) + 1, (cell % size) + 1, number);
};
