/** The result of the last action, as a part of the state and as a text. Cells are indices; the text counts from 1. */
import { type Board, candidates, geometry, numberOf, type Size } from "./Board.ts";

export type Feedback =
  | { readonly _tag: "Unreadable"; readonly action: string }
  | { readonly _tag: "OutOfRange"; readonly what: "Row" | "Column" | "Number"; readonly value: number }
  | { readonly _tag: "Given"; readonly cell: number }
  | { readonly _tag: "Unchanged"; readonly cell: number; readonly symbol: string }
  | {
      readonly _tag: "Conflict";
      readonly cell: number;
      readonly symbol: string;
      /** The units of the cell that had the number already. */
      readonly units: readonly ("row" | "column" | "box")[];
      /** The symbols that the cell could have taken. */
      readonly valid: readonly string[];
    }
  | { readonly _tag: "Placed"; readonly cell: number; readonly symbol: string; readonly correct: boolean };

/** The conflict of a symbol on a board; null if there is none. */
export const conflictOf = (size: Size, board: Board, cell: number, symbol: string): Feedback | null => {
  const { units, unitsOf } = geometry(size);
  const kinds = ["row", "column", "box"] as const;
  const conflicting = kinds.filter((_, kind) =>
    units[unitsOf[cell]![kind]!]!.some((other) => other !== cell && board[other] === symbol),
  );
  if (conflicting.length === 0) return null;
  return { _tag: "Conflict", cell, symbol, units: conflicting, valid: candidates(size, board, cell) };
};

export const numbersText = (symbols: readonly string[]): string => `[${symbols.map(numberOf).join(", ")}]`;

export const cellText = (size: Size, cell: number): string => `(${Math.floor(cell / size) + 1},${(cell % size) + 1})`;

/** Names a unit of a cell: `row 2`, `column 3`, `box (1,3)`. */
const unitText = (size: Size, cell: number, kind: "row" | "column" | "box"): string => {
  const row = Math.floor(cell / size);
  const column = cell % size;
  const { box } = geometry(size);
  if (kind === "row") return `row ${row + 1}`;
  if (kind === "column") return `column ${column + 1}`;
  return `box (${Math.floor(row / box) + 1},${Math.floor(column / box) + 1})`;
};

export const feedbackText = (size: Size, feedback: Feedback): string => {
  switch (feedback._tag) {
    case "Unreadable":
      return `❌ Not a placement: "${feedback.action}". Write "place 5 at row 2 col 3" or "2,3,5" (row, column, number).`;
    case "OutOfRange":
      return `❌ ${feedback.what} ${feedback.value} does not exist: it goes from 1 to ${size}.`;
    case "Given":
      return `❌ Cell ${cellText(size, feedback.cell)} is an initial cell and stays as it is.`;
    case "Unchanged":
      return `❌ Cell ${cellText(size, feedback.cell)} holds ${numberOf(feedback.symbol)} already.`;
    case "Conflict": {
      const { cell, symbol, units, valid } = feedback;
      const where = units.map((kind) => unitText(size, cell, kind)).join(", ");
      const could = valid.length > 0 ? `\n   Valid numbers for ${cellText(size, cell)}: ${numbersText(valid)}` : "";
      return `❌ ${numberOf(symbol)} at ${cellText(size, cell)} conflicts with ${where}.${could}`;
    }
    case "Placed":
      return feedback.correct
        ? `✓ Correct: ${numberOf(feedback.symbol)} at ${cellText(size, feedback.cell)}.`
        : `⚠ Legal, but not the solution's number: ${numberOf(feedback.symbol)} at ${cellText(size, feedback.cell)}.`;
  }
};
