/**
 * Completes a Sudoku board to a full one that keeps its numbers, if there is one. The problem is an exact cover. A placement is an option that
 * covers four items: its cell, and its number in the row, in the column and in the box.
 */
import type { Random } from "../../../domain/Random.ts";
import { type Board, geometry, numberOf, type Size, symbolOf } from "./Board.ts";
import { findCover, type Matrix, matrixOf } from "./ExactCover.ts";

export type Completion =
  | { readonly _tag: "Found"; readonly board: Board }
  | { readonly _tag: "None" }
  | { readonly _tag: "Unknown" };

export interface CompletionOptions {
  /** A number that a cell must not take. */
  readonly except?: { readonly cell: number; readonly symbol: string };
  /** Draws which of the completions is found first; the first in order where absent. */
  readonly random?: Random;
  /** Placements tried before giving up. */
  readonly budget?: number;
}

/** The bound is far beyond any puzzle of 9x9 cells; it stops hostile boards of 16x16. */
const defaultBudget = 1_000_000;

const optionOf = (size: Size, cell: number, symbol: string): number => cell * size + numberOf(symbol) - 1;

const makeMatrix = (size: Size): Matrix => {
  const cells = size * size;
  const { unitsOf } = geometry(size);
  const options = Array.from({ length: cells * size }, (_, option) => {
    const cell = Math.floor(option / size);
    return [cell, ...unitsOf[cell]!.map((unit) => cells + unit * size + (option % size))];
  });
  return matrixOf(4 * cells, options);
};

const matrices = new Map<Size, Matrix>();

const matrix = (size: Size): Matrix => {
  const cached = matrices.get(size);
  if (cached !== undefined) return cached;
  const created = makeMatrix(size);
  matrices.set(size, created);
  return created;
};

export const complete = (
  size: Size,
  board: Board,
  { except, random, budget = defaultBudget }: CompletionOptions = {},
): Completion => {
  const chosen = Array.from(board).flatMap((symbol, cell) =>
    numberOf(symbol) > 0 ? [optionOf(size, cell, symbol)] : [],
  );
  const result = findCover(matrix(size), {
    chosen,
    budget,
    ...(except === undefined ? {} : { excluded: optionOf(size, except.cell, except.symbol) }),
    ...(random === undefined ? {} : { arrange: (options: readonly number[]) => random.shuffle(options) }),
  });
  if (result._tag !== "Found") return result;
  const symbols = new Array<string>(size * size);
  for (const option of result.options) symbols[Math.floor(option / size)] = symbolOf((option % size) + 1);
  return { _tag: "Found", board: symbols.join("") };
};
