/**
 * Orders the placements that lead from a board to a full one, so that each is legal when it is made. Cells with a wrong number are overwritten
 * first; if such cells block each other, one of them takes any other legal number in between. After that the easiest inference comes first,
 * as a person would play.
 */
import { type Board, candidates, empty, geometry, type Size, withCell } from "./Board.ts";

export interface Move {
  readonly cell: number;
  readonly symbol: string;
}

/** The reason why a number belongs in a cell. */
export type Reason =
  /** The cell can take no other number. */
  | { readonly _tag: "OnlyNumber" }
  /** The number has no other place in its row, column or box. */
  | { readonly _tag: "OnlyPlace"; readonly unit: "row" | "column" | "box" }
  | { readonly _tag: "OneOf"; readonly candidates: readonly string[] };

/** The candidates of every empty cell; an empty list for the others. */
const allCandidates = (size: Size, board: Board): readonly (readonly string[])[] =>
  Array.from(board, (symbol, cell) => (symbol === empty ? candidates(size, board, cell) : []));

const reasonIn = (size: Size, open: readonly (readonly string[])[], { cell, symbol }: Move): Reason => {
  if (open[cell]!.length === 1) return { _tag: "OnlyNumber" };
  const { units, unitsOf } = geometry(size);
  const kinds = ["row", "column", "box"] as const;
  const unit = kinds.find((_, kind) =>
    units[unitsOf[cell]![kind]!]!.every((other) => other === cell || !open[other]!.includes(symbol)),
  );
  return unit === undefined ? { _tag: "OneOf", candidates: open[cell]! } : { _tag: "OnlyPlace", unit };
};

export const reasonFor = (size: Size, board: Board, move: Move): Reason =>
  reasonIn(size, allCandidates(size, withCell(board, move.cell, empty)), move);

const rank = (reason: Reason): number => {
  switch (reason._tag) {
    case "OnlyNumber":
      return 1;
    case "OnlyPlace":
      return 2;
    case "OneOf":
      return 1 + reason.candidates.length;
  }
};

/** A move in a cell with a wrong number: the right number if some cell can take it now, else any other legal one. */
const repairMove = (size: Size, board: Board, solution: Board, wrong: readonly number[]): Move | null => {
  const open = new Map(wrong.map((cell) => [cell, candidates(size, board, cell)]));
  for (const [cell, symbols] of open) {
    if (symbols.includes(solution[cell]!)) return { cell, symbol: solution[cell]! };
  }
  for (const [cell, symbols] of open) {
    const symbol = symbols.find((other) => other !== board[cell]);
    if (symbol !== undefined) return { cell, symbol };
  }
  return null;
};

/** The solution's number in the cell where it is easiest to infer. */
const easiestMove = (size: Size, board: Board, solution: Board): Move => {
  const open = allCandidates(size, board);
  const moves = Array.from(solution, (symbol, cell) => ({ cell, symbol })).filter(({ cell }) => board[cell] === empty);
  let [best] = moves;
  let bestRank = Number.POSITIVE_INFINITY;
  for (const move of moves) {
    const at = rank(reasonIn(size, open, move));
    if (at >= bestRank) continue;
    best = move;
    bestRank = at;
  }
  if (best === undefined) throw new Error("a full board has no next move");
  return best;
};

/** The moves from a board to the solution; null if legal placements cannot lead there, or if none are found within the bound. */
export const planTo = (size: Size, start: Board, solution: Board): readonly Move[] | null => {
  const moves: Move[] = [];
  let board = start;
  const addMove = (move: Move): void => {
    moves.push(move);
    board = withCell(board, move.cell, move.symbol);
  };
  // Wrong numbers are replaced first, while empty cells leave room; a right or empty cell never blocks a right number.
  for (;;) {
    const wrong = Array.from(board, (_, cell) => cell).filter(
      (cell) => board[cell] !== empty && board[cell] !== solution[cell],
    );
    if (wrong.length === 0) break;
    const move = repairMove(size, board, solution, wrong);
    if (move === null || moves.length > size * size) return null;
    addMove(move);
  }
  while (board !== solution) addMove(easiestMove(size, board, solution));
  return moves;
};
