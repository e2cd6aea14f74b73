/** The state of a Sudoku episode, and nothing that follows from it. */
import type { Board } from "./Board.ts";
import type { Feedback } from "./Feedback.ts";

export interface SudokuState {
  /** The initial cells. */
  readonly puzzle: Board;
  /** The full board the puzzle came from. */
  readonly solution: Board;
  readonly board: Board;
  readonly steps: number;
  /** What came of the last action. */
  readonly last: Feedback | null;
}
