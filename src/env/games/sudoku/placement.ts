/**
 * Finds the first placement in free text; null if there is none. Rows, columns and numbers count from 1 and are not yet checked against the board.
 */

export interface Placement {
  readonly row: number;
  readonly column: number;
  readonly number: number;
}

/** Matches `place 5 at row 2 col 3`, `place 5 at (2,3)` and `place 5 at 2,3`; `place` may be left out. */
const numberAtCell =
  /(?<![\d.-])(\d+)\s+at\s+(?:row\s+(\d+)\s*(?:,\s*)?col(?:umn)?\s+(\d+)|\(\s*(\d+)\s*,\s*(\d+)\s*\)|(\d+)\s*,\s*(\d+))/i;

/** Matches `(2,3,5)` and `2,3,5`. */
const triple = /(?<![\d.-])(\d+)\s*,\s*(\d+)\s*,\s*(\d+)/;

/** With one of these words in the text, a triple has its number first. RAGEN also finds them inside other words ("that"). */
const numberFirst = /\b(?:place|at)\b/i;

export const readPlacement = (action: string): Placement | null => {
  const named = numberAtCell.exec(action);
  if (named !== null) {
    const [, number, ...cell] = named;
    const [row, column] = cell.filter((part) => part !== undefined);
    return { row: Number(row), column: Number(column), number: Number(number) };
  }
  const listed = triple.exec(action);
  if (listed === null) return null;
  const [first, second, third] = [Number(listed[1]), Number(listed[2]), Number(listed[3])];
  return numberFirst.test(action)
    ? { row: second, column: third, number: first }
    : { row: first, column: second, number: third };
};

export const placementText = ({ row, column, number }: Placement): string =>
  `place ${number} at row ${row} col ${column}`;
