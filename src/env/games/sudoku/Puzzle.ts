/**
 * Draws puzzles: a board with empty cells and the full board it came from. Invariant under `unique`: the full board is the only
 * completion, so that whether a placement is right does not depend on which completion was drawn.
 */
import type { Random } from "../../../domain/Random.ts";
import { NoInstance } from "../../contract/NoInstance.ts";
import { pythonRandom } from "../random/PythonRandom.ts";
import { type Board, candidates, empty, type Size, symbolOf, withCell } from "./Board.ts";
import { complete } from "./Completion.ts";
import type { SudokuConfig } from "./SudokuConfig.ts";

export interface Puzzle {
  readonly puzzle: Board;
  readonly solution: Board;
}

const emptyShares: Readonly<Record<SudokuConfig["difficulty"], number>> = { easy: 0.4, medium: 0.5, hard: 0.6 };

/** The number of cells left empty. */
export const holeCount = ({ difficulty, grid_size }: Pick<SudokuConfig, "difficulty" | "grid_size">): number =>
  Math.floor(grid_size * grid_size * emptyShares[difficulty]);

const maxDraws = 100;

/** A random fill of 16x16 cells that reaches a dead end is restarted, which is faster than searching on. */
const fillBudget = 5_000;
/** A cell keeps its number unless so many placements prove that removing it leaves one solution. */
const checkBudget = 20_000;

const fullBoard = (size: Size, random: Random): Board | null => {
  const completion = complete(size, empty.repeat(size * size), { random, budget: fillBudget });
  return completion._tag === "Found" ? completion.board : null;
};

/** Empties cells in a drawn order; null if too few can be emptied. */
const dig = (size: Size, solution: Board, count: number, unique: boolean, random: Random): Board | null => {
  let board = solution;
  let left = count;
  for (const cell of random.shuffle(Array.from(solution, (_, at) => at))) {
    if (left === 0) break;
    const without = withCell(board, cell, empty);
    const except = { cell, symbol: solution[cell]! };
    // The completion was unique before, so a second one has to differ in this cell.
    if (unique && complete(size, without, { except, budget: checkBudget })._tag !== "None") continue;
    board = without;
    left--;
  }
  return left === 0 ? board : null;
};

/** Draws a puzzle. It throws NoInstance if no puzzle with as many empty cells is found. */
export const drawPuzzle = (config: SudokuConfig, random: Random): Puzzle => {
  const size = config.grid_size;
  for (let draw = 0; draw < maxDraws; draw++) {
    const solution = fullBoard(size, random);
    const puzzle = solution && dig(size, solution, holeCount(config), config.unique, random);
    if (solution !== null && puzzle !== null) return { puzzle, solution };
  }
  throw new NoInstance({ env_type: "sudoku", draws: maxDraws });
};

/** The bound is far beyond real fills, which take a few hundred numbers for 9x9 cells and some ten thousand for 16x16. */
const ragenBudget = 1_000_000;

/**
 * The puzzle that RAGEN makes under a seed. RAGEN fills cells in order with numbers in a drawn order, with backtracking. Then it empties the first
 * cells of a drawn order, even if that leaves several solutions.
 */
export const ragenPuzzle = (config: SudokuConfig, seed: number): Puzzle => {
  const size = config.grid_size;
  const random = pythonRandom(seed);
  const symbols = Array.from({ length: size }, (_, at) => symbolOf(at + 1));
  let tried = 0;
  const fill = (board: Board, cell: number): Board | null => {
    if (cell === board.length) return board;
    const order = random.shuffle(symbols);
    const allowed = candidates(size, board, cell);
    for (const symbol of order) {
      if (!allowed.includes(symbol)) continue;
      if (++tried > ragenBudget) throw new NoInstance({ env_type: "sudoku", draws: ragenBudget });
      const full = fill(withCell(board, cell, symbol), cell + 1);
      if (full !== null) return full;
    }
    return null;
  };
  const solution = fill(empty.repeat(size * size), 0)!;
  const emptied = random.shuffle(Array.from(solution, (_, cell) => cell)).slice(0, holeCount(config));
  return { puzzle: emptied.reduce((board, cell) => withCell(board, cell, empty), solution), solution };
};
