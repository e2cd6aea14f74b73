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

const shares: Readonly<Record<SudokuConfig["difficulty"], number>> = { easy: 0.4, medium: 0.5, hard: 0.6 };

/** Cells left empty. */
export const holes = ({ difficulty, grid_size }: Pick<SudokuConfig, "difficulty" | "grid_size">): number =>
  Math.floor(grid_size * grid_size * shares[difficulty]);

const mostDraws = 100;

/** A random fill of 16x16 cells that reaches a dead end is restarted, which is faster than searching on. */
const fillBudget = 5_000;
/** A cell whose removal is not shown to be safe within this many placements keeps its number. */
const checkBudget = 20_000;

const fullBoard = (size: Size, random: Random): Board | null => {
  const found = complete(size, empty.repeat(size * size), { random, budget: fillBudget });
  return found._tag === "Found" ? found.board : null;
};

/** Empties cells in a drawn order; null where too few can be. */
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

/** Throws NoInstance where no puzzle with as many empty cells is found. */
export const drawPuzzle = (config: SudokuConfig, random: Random): Puzzle => {
  const size = config.grid_size;
  for (let draw = 0; draw < mostDraws; draw++) {
    const solution = fullBoard(size, random);
    const puzzle = solution && dig(size, solution, holes(config), config.unique, random);
    if (solution !== null && puzzle !== null) return { puzzle, solution };
  }
  throw new NoInstance({ env_type: "sudoku", draws: mostDraws });
};

/** Far beyond what fills take: a few hundred numbers for 9x9 cells, some ten thousand for 16x16. */
const ragenBudget = 1_000_000;

/**
 * The puzzle RAGEN makes under a seed: cells are filled in order with numbers in a drawn order, with backtracking; then the
 * first cells of a drawn order are emptied, whether or not one solution is left.
 */
export const ragenPuzzle = (config: SudokuConfig, seed: number): Puzzle => {
  const size = config.grid_size;
  const random = pythonRandom(seed);
  const symbols = Array.from({ length: size }, (_, at) => symbolOf(at + 1));
  let tried = 0;
  const fill = (board: Board, cell: number): Board | null => {
    if (cell === board.length) return board;
    const order = random.shuffle(symbols);
    const open = candidates(size, board, cell);
    for (const symbol of order) {
      if (!open.includes(symbol)) continue;
      if (++tried > ragenBudget) throw new NoInstance({ env_type: "sudoku", draws: ragenBudget });
      const full = fill(withCell(board, cell, symbol), cell + 1);
      if (full !== null) return full;
    }
    return null;
  };
  const solution = fill(empty.repeat(size * size), 0)!;
  const emptied = random.shuffle(Array.from(solution, (_, cell) => cell)).slice(0, holes(config));
  return { puzzle: emptied.reduce((board, cell) => withCell(board, cell, empty), solution), solution };
};
