/**
 * Sudoku by free text: the player places numbers until the board is full and legal. A legal number earns 1 if it is the solution's, half of that
 * otherwise; a refused action costs 0.1, and solving adds 10 and terminates. Every action counts against `max_steps`, which truncates.
 * `limit_on_legal_only` and `unique` choose RAGEN's limit and its puzzles with several solutions.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { type Board, empty, filledCount, isSolved, numberOf, symbolOf, withCell } from "./Board.ts";
import { complete } from "./Completion.ts";
import { conflictOf, type Feedback } from "./Feedback.ts";
import { drawPuzzle, ragenPuzzle } from "./Puzzle.ts";
import { placementText, readPlacement } from "./placement.ts";
import { type Move, planTo, reasonFor } from "./plan.ts";
import { compactGrid, render } from "./render.ts";
import { SudokuConfig } from "./SudokuConfig.ts";
import type { SudokuState } from "./SudokuState.ts";

export interface SudokuInfo extends BaseInfo {
  /** True if the placement is the solution's. */
  readonly correct_placement: boolean;
  readonly final_cells_filled: number;
  readonly final_cells_remaining: number;
  readonly final_steps_remaining: number;
}

/** The next observation quotes so many characters of an unreadable action. */
const maxQuoted = 80;

const reset = (config: SudokuConfig, instance: Random): SudokuState => {
  const { puzzle, solution } =
    config.instances === "ragen" ? ragenPuzzle(config, instance.key.seed) : drawPuzzle(config, instance);
  return { puzzle, solution, board: puzzle, steps: 0, last: null };
};

/** The result of an action on a board. */
const feedbackOf = (config: SudokuConfig, { board, puzzle, solution }: SudokuState, action: string): Feedback => {
  const size = config.grid_size;
  const placement = readPlacement(action);
  if (placement === null) return { _tag: "Unreadable", action: action.trim().slice(0, maxQuoted) };
  const outside = (value: number): boolean => value < 1 || value > size;
  if (outside(placement.row)) return { _tag: "OutOfRange", what: "Row", value: placement.row };
  if (outside(placement.column)) return { _tag: "OutOfRange", what: "Column", value: placement.column };
  if (outside(placement.number)) return { _tag: "OutOfRange", what: "Number", value: placement.number };
  const cell = (placement.row - 1) * size + placement.column - 1;
  const symbol = symbolOf(placement.number);
  if (puzzle[cell] !== empty) return { _tag: "Given", cell };
  if (board[cell] === symbol) return { _tag: "Unchanged", cell, symbol };
  return conflictOf(size, board, cell, symbol) ?? { _tag: "Placed", cell, symbol, correct: solution[cell] === symbol };
};

const boardAfter = (config: SudokuConfig, board: Board, feedback: Feedback): Board => {
  const written = feedback._tag === "Placed" || (feedback._tag === "Conflict" && config.conflicts === "keep");
  return written ? withCell(board, feedback.cell, feedback.symbol) : board;
};

const isBoardSolved = (config: SudokuConfig, { board }: SudokuState): boolean => isSolved(config.grid_size, board);

const isOutOfSteps = (config: SudokuConfig, { last, steps }: SudokuState): boolean =>
  steps >= config.max_steps && (!config.limit_on_legal_only || last?._tag === "Placed");

const rewardOf = (config: SudokuConfig, feedback: Feedback, success: boolean): number => {
  if (feedback._tag !== "Placed") return config.invalid_action_score;
  const placed = feedback.correct ? config.correct_placement_score : config.correct_placement_score * 0.5;
  return success ? placed + config.completion_bonus : placed;
};

const step = (config: SudokuConfig, state: SudokuState, action: string): Transition<SudokuState, SudokuInfo> => {
  const over = isBoardSolved(config, state) || isOutOfSteps(config, state);
  const feedback = feedbackOf(config, state, action);
  const next: SudokuState = over
    ? state
    : { ...state, board: boardAfter(config, state.board, feedback), steps: state.steps + 1, last: feedback };
  const success = isBoardSolved(config, next);
  const cells = filledCount(next.board);
  const placed = !over && feedback._tag === "Placed";
  return {
    state: next,
    reward: over ? 0 : rewardOf(config, feedback, success),
    terminated: success,
    truncated: !success && isOutOfSteps(config, next),
    info: {
      success,
      action_is_effective: next.board !== state.board,
      action_is_valid: placed,
      correct_placement: placed && feedback.correct,
      final_cells_filled: cells,
      final_cells_remaining: next.board.length - cells,
      final_steps_remaining: Math.max(0, config.max_steps - next.steps),
    },
  };
};

const actionOf = (config: SudokuConfig, { cell, symbol }: Move): string =>
  placementText({
    row: Math.floor(cell / config.grid_size) + 1,
    column: (cell % config.grid_size) + 1,
    number: numberOf(symbol),
  });

/**
 * The fewest placements: those of the empty cells if the board can be completed as it stands, else those that lead to the drawn solution. In a
 * puzzle with several solutions another one may then be nearer. Null also if the steps left do not suffice.
 */
const solve = (config: SudokuConfig, state: SudokuState): readonly string[] | null => {
  if (isBoardSolved(config, state)) return [];
  if (isOutOfSteps(config, state)) return null;
  const size = config.grid_size;
  const completion = complete(size, state.board);
  const target = completion._tag === "Found" ? completion.board : state.solution;
  const plan = planTo(size, state.board, target);
  // If refused actions do not end an episode, one legal placement may be left beyond its steps.
  const left = Math.max(1, config.max_steps - state.steps);
  return plan === null || plan.length > left ? null : plan.map((move) => actionOf(config, move));
};

/** The thought names the cell of the first number, and the reason why that number fits. */
const thought = (config: SudokuConfig, { board }: SudokuState, plan: readonly string[]): string => {
  const [action = ""] = plan;
  const placement = readPlacement(action);
  if (placement === null) return "";
  const { row, column, number } = placement;
  const cell = (row - 1) * config.grid_size + column - 1;
  const reason = reasonFor(config.grid_size, board, { cell, symbol: symbolOf(number) });
  const at = `row ${row} col ${column}`;
  switch (reason._tag) {
    case "OnlyNumber":
      return `${at} can only be ${number} so ${action}`;
    case "OnlyPlace":
      return `${number} fits its ${reason.unit} only at ${at} so ${action}`;
    case "OneOf":
      return `${at} can be ${reason.candidates.map(numberOf).join(" or ")} so ${action}`;
  }
};

export const Sudoku: Environment<SudokuConfig, SudokuState, SudokuInfo> = {
  type: "sudoku",
  config: SudokuConfig,
  reset,
  step,
  render: (config, state) => render(config, state, isBoardSolved(config, state)),
  compact: (config, state) => compactGrid(config.grid_size, state.board),
  actions: () => null,
  legend: ({ grid_size }) =>
    `Rows and columns are counted from 1: row 1 column 1 is the top-left cell, row ${grid_size} column ${grid_size} the bottom-right one.`,
  solve,
  thought,
  contentKey: (_config, { puzzle }) => `sudoku:${puzzle}`,
};
