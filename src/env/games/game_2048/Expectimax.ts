/**
 * A player of 2048 for demonstrations, not a solver: it chooses the move with the best expected value of the board after one new tile and one
 * more move. The value favours empty cells, lines in order, neighbours that can merge, and few tiles of high value. Its terms and weights are
 * those of Robert Xiao's 2048-ai.
 */
import { type Cells, directions, emptyCells, movableDirections, slide } from "./Board.ts";
import type { Game2048Config } from "./Game2048Config.ts";

const perEmptyCell = 5.4;
const perMerge = 7;
const perDisorder = 0.47;
const perTile = 0.11;
const lostGame = -2000;

/** The value of the line of cells `from`, `from + stride`, …: merges to come count for it, disorder and high tiles against it. */
const lineValue = (size: number, cells: Cells, from: number, stride: number): number => {
  let rises = 0;
  let falls = 0;
  let merges = 0;
  let tiles = 0;
  let before = -1;
  for (let place = 0; place < size; place++) {
    const exponent = cells[from + place * stride]!;
    tiles += exponent ** 3.5;
    if (before >= 0) {
      const rise = exponent ** 4 - before ** 4;
      if (rise > 0) rises += rise;
      else falls -= rise;
      if (rise === 0 && exponent > 0) merges++;
    }
    before = exponent;
  }
  return perMerge * merges - perDisorder * Math.min(rises, falls) - perTile * tiles;
};

const boardValue = (size: number, cells: Cells): number => {
  let sum = perEmptyCell * emptyCells(cells).length;
  for (let line = 0; line < size; line++) {
    sum += lineValue(size, cells, line * size, 1) + lineValue(size, cells, line, size);
  }
  return sum;
};

/** The best value of a board after one move. */
const valueToMove = (size: number, cells: Cells): number => {
  let best = lostGame;
  for (let direction = 0; direction < directions.length; direction++) {
    const { cells: slid } = slide(size, cells, direction);
    if (slid !== cells) best = Math.max(best, boardValue(size, slid));
  }
  return best;
};

/** The mean value over the new tiles that may come. */
const expected = ({ size, two_prob }: Game2048Config, cells: Cells): number => {
  const free = emptyCells(cells);
  let sum = 0;
  for (const cell of free) {
    if (two_prob > 0) sum += two_prob * valueToMove(size, cells.with(cell, 1));
    if (two_prob < 1) sum += (1 - two_prob) * valueToMove(size, cells.with(cell, 2));
  }
  return sum / free.length;
};

/** The name of the best move, or null if nothing moves. Among equally good moves the first of `directions` wins. */
export const advise = (config: Game2048Config, cells: Cells): string | null => {
  let best: { readonly direction: number; readonly value: number } | null = null;
  for (const direction of movableDirections(config.size, cells)) {
    const value = expected(config, slide(config.size, cells, direction).cells);
    if (best === null || value > best.value) best = { direction, value };
  }
  return best === null ? null : directions[best.direction]!;
};
