/** The state of a Sudoku episode; derived values are not stored. */
import type { Board } from "./Board.ts";
import type { Feedback } from "./Feedback.ts";

export interface SudokuState {
  /** The initial cells. */
  readonly puzzle: Board;
  /** The full board the puzzle came from. */
  readonly solution: Board;
  readonly board: Board;
  readonly steps: number;
  /** The result of the last action. */
  readonly last: Feedback | null;
}
