/**
 * Orders the placements that lead from a board to a full one, so that each is legal when it is made. Cells that hold another number are overwritten first; where such cells block each other, one of them takes any other legal
 * number in between. Then the easiest inference comes first, as a person would play.
 */
import { type Board, candidates, empty, geometry, type Size, withCell } from "./Board.ts";

export interface Move {
  readonly cell: number;
  readonly symbol: string;
}

/** Why a number belongs in a cell. */
export type Reason =
  /** The cell can take no other. */
  | { readonly _tag: "OnlyNumber" }
  /** The number has no other place in its row, column or box. */
  | { readonly _tag: "OnlyPlace"; readonly unit: "row" | "column" | "box" }
  | { readonly _tag: "OneOf"; readonly candidates: readonly string[] };

/** Candidates of every empty cell; nothing for the others. */
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

/** Of cells that hold another number than the solution's: one that can take the right one now, or else any other legal number. */
const repair = (size: Size, board: Board, solution: Board, wrong: readonly number[]): Move | null => {
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
const easiest = (size: Size, board: Board, solution: Board): Move => {
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

/** Null where the board cannot be brought to the solution by legal placements, or none are found within the bound. */
export const planTo = (size: Size, start: Board, solution: Board): readonly Move[] | null => {
  const moves: Move[] = [];
  let board = start;
  const make = (move: Move): void => {
    moves.push(move);
    board = withCell(board, move.cell, move.symbol);
  };
  // Wrong numbers first, while empty cells leave them room; what is right or empty never blocks what is right.
  for (;;) {
    const wrong = Array.from(board, (_, cell) => cell).filter(
      (cell) => board[cell] !== empty && board[cell] !== solution[cell],
    );
    if (wrong.length === 0) break;
    const move = repair(size, board, solution, wrong);
    if (move === null || moves.length > size * size) return null;
    make(move);
  }
  while (board !== solution) make(easiest(size, board, solution));
  return moves;
};
