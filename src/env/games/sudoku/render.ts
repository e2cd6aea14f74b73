/** Writes the observation of a Sudoku state in its three formats, and the short one. Cells of 16x16 boards are wide enough for 16. */
import { type Board, candidates, conflicts, empty, filledCount, geometry, numberOf, type Size } from "./Board.ts";
import { cellText, feedbackText, numbersText } from "./Feedback.ts";
import type { SudokuConfig } from "./SudokuConfig.ts";
import type { SudokuState } from "./SudokuState.ts";

const ruler = "=".repeat(50);

/** Candidates are listed once so few cells are empty. */
const fewCells = 10;

/** Writes rows of cells, with bars between boxes and a line between bands. */
const grid = (size: Size, cells: readonly string[]): string => {
  const { box } = geometry(size);
  const lines: string[] = [];
  for (let row = 0; row < size; row++) {
    const boxes: string[] = [];
    for (let first = 0; first < size; first += box) {
      boxes.push(cells.slice(row * size + first, row * size + first + box).join(""));
    }
    const line = boxes.join("| ");
    if (row > 0 && row % box === 0) lines.push("-".repeat(line.length));
    lines.push(line.trimEnd());
  }
  return lines.join("\n");
};

const numberText = (size: Size, symbol: string): string =>
  (symbol === empty ? empty : String(numberOf(symbol))).padStart(String(size).length);

const bareGrid = (size: Size, board: Board): string =>
  grid(
    size,
    Array.from(board, (symbol) => `${numberText(size, symbol)} `),
  );

const markedGrid = (size: Size, { board, puzzle }: SudokuState): string => {
  const conflicting = new Set(conflicts(size, board));
  return grid(
    size,
    Array.from(board, (symbol, cell) => {
      const number = numberText(size, symbol);
      if (puzzle[cell] !== empty) return `[${number}]`;
      return conflicting.has(cell) ? `*${number}*` : ` ${number} `;
    }),
  );
};

const conflictLines = (size: Size, board: Board): readonly string[] => {
  const cells = conflicts(size, board);
  if (cells.length === 0) return [];
  return ["", "⚠ CONFLICTS:", ...cells.map((cell) => `  - Cell ${cellText(size, cell)}: ${numberOf(board[cell]!)}`)];
};

const candidateLines = (config: SudokuConfig, board: Board): readonly string[] => {
  const size = config.grid_size;
  const open = Array.from(board, (_, cell) => cell).filter((cell) => board[cell] === empty);
  const shown = config.show_candidates || (config.show_valid_numbers && open.length <= fewCells);
  if (!shown || open.length === 0) return [];
  return [
    "",
    "💡 VALID NUMBERS FOR EMPTY CELLS:",
    ...open.map((cell) => `  - ${cellText(size, cell)}: ${numbersText(candidates(size, board, cell))}`),
  ];
};

const progressLines = (config: SudokuConfig, { board, puzzle, steps }: SudokuState): readonly string[] => {
  const now = filledCount(board);
  const initial = filledCount(puzzle);
  return [
    "",
    `Progress: ${now}/${board.length} cells filled (${initial} initial, ${now - initial} placed)`,
    `Steps: ${steps}/${config.max_steps}`,
  ];
};

export const render = (config: SudokuConfig, state: SudokuState, solved: boolean): string => {
  const size = config.grid_size;
  if (config.render_format === "simple") return bareGrid(size, state.board);
  const lines = [ruler, "SUDOKU PUZZLE", ruler, markedGrid(size, state), ""];
  lines.push("Legend: [n] initial cell, n placed, *n* in conflict, . empty");
  if (state.last !== null) lines.push("", feedbackText(size, state.last));
  if (solved) lines.push("🎉 The puzzle is solved!");
  if (config.render_format === "detailed") return lines.join("\n");
  if (config.show_conflicts) lines.push(...conflictLines(size, state.board));
  lines.push(...candidateLines(config, state.board), ...progressLines(config, state));
  return lines.join("\n");
};

/** Writes one symbol for each cell, and one line for each row. */
export const compactGrid = (size: Size, board: Board): string =>
  Array.from({ length: size }, (_, row) => board.slice(row * size, (row + 1) * size)).join("\n");
