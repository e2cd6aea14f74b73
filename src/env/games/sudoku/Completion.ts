/**
 * Completes a Sudoku board to a full one that keeps its numbers, where there is one. An exact cover: a placement is an option that covers
 * four items: its cell, and its number in the row, in the column and in the box.
 */
import type { Random } from "../../../domain/Random.ts";
import { type Board, geometry, numberOf, type Size, symbolOf } from "./Board.ts";
import { cover, type Matrix, matrixOf } from "./ExactCover.ts";

export type Completion =
  | { readonly _tag: "Found"; readonly board: Board }
  | { readonly _tag: "None" }
  | { readonly _tag: "Unknown" };

export interface Search {
  /** A number that a cell must not take. */
  readonly except?: { readonly cell: number; readonly symbol: string };
  /** Draws which of the completions is found first; the first in order where absent. */
  readonly random?: Random;
  /** Placements tried before giving up. */
  readonly budget?: number;
}

/** Far beyond any puzzle of 9x9 cells; a bound for hostile boards of 16x16. */
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
  const known = matrices.get(size);
  if (known !== undefined) return known;
  const made = makeMatrix(size);
  matrices.set(size, made);
  return made;
};

export const complete = (
  size: Size,
  board: Board,
  { except, random, budget = defaultBudget }: Search = {},
): Completion => {
  const chosen = Array.from(board).flatMap((symbol, cell) =>
    numberOf(symbol) > 0 ? [optionOf(size, cell, symbol)] : [],
  );
  const found = cover(matrix(size), {
    chosen,
    budget,
    ...(except === undefined ? {} : { excluded: optionOf(size, except.cell, except.symbol) }),
    ...(random === undefined ? {} : { arrange: (options: readonly number[]) => random.shuffle(options) }),
  });
  if (found._tag !== "Found") return found;
  const symbols = new Array<string>(size * size);
  for (const option of found.options) symbols[Math.floor(option / size)] = symbolOf((option % size) + 1);
  return { _tag: "Found", board: symbols.join("") };
};
