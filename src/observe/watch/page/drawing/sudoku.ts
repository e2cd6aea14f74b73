/**
 * Reads Sudoku boards of 4x4, 9x9 and 16x16 cells: with marks, bare, or one symbol a cell. Only marks show which numbers the
 * puzzle gave. If later boards lack marks, the first one shows them (`withGivens`).
 */
import type { SudokuCell, SudokuDrawing } from "./Drawing.ts";

const boxes: ReadonlyMap<number, number> = new Map([
  [4, 2],
  [9, 3],
  [16, 4],
]);

interface Read {
  readonly number: number;
  readonly given: boolean | null;
  /** As the text marks it; null where it marks nothing. */
  readonly marked: boolean | null;
}

/** True if another cell of the same row, column or box has the number of cell `at`. */
const conflicts = (size: number, box: number, numbers: readonly number[], at: number): boolean => {
  const [row, col] = [Math.floor(at / size), at % size];
  return numbers.some((number, other) => {
    if (other === at || number === 0 || number !== numbers[at]) return false;
    const [otherRow, otherCol] = [Math.floor(other / size), other % size];
    const sameBox =
      Math.floor(row / box) === Math.floor(otherRow / box) && Math.floor(col / box) === Math.floor(otherCol / box);
    return row === otherRow || col === otherCol || sameBox;
  });
};

const drawn = (rows: readonly (readonly Read[])[]): SudokuDrawing | null => {
  const size = rows.length;
  const box = boxes.get(size);
  if (box === undefined || rows.some((row) => row.length !== size)) return null;
  const read = rows.flat();
  const numbers = read.map(({ number }) => number);
  if (numbers.some((number) => !Number.isInteger(number) || number < 0 || number > size)) return null;
  const cells: SudokuCell[] = [];
  for (const [at, { given, marked, number }] of read.entries()) {
    const conflict = conflicts(size, box, numbers, at);
    // The numbers of the puzzle carry the mark of a given one, whether or not they are in conflict.
    if (marked !== null && given !== true && marked !== conflict) return null;
    if (given === true && number === 0) return null;
    cells.push({ number, given, conflict });
  }
  return { kind: "sudoku", rows: size, cols: size, box, cells };
};

const markedCell = /\[ ?(\d{1,2})\]|\* ?(\d{1,2})\*|(\d{1,2})|(\.)/g;

/** The cells of a printed row between its bars; null where anything else stands there. */
const rowOf = (line: string, marks: boolean): readonly Read[] | null => {
  const rest = line.replace(markedCell, "");
  if (!/^[ |]*$/.test(rest)) return null;
  return Array.from(line.matchAll(markedCell), ([, given, conflicting, placed]) => ({
    number: Number(given ?? conflicting ?? placed ?? 0),
    given: marks ? given !== undefined : null,
    marked: marks ? conflicting !== undefined : null,
  }));
};

/** Rows of cells, with a line of dashes between the bands of boxes. */
const printed = (text: string, marks: boolean): SudokuDrawing | null => {
  const rows: (readonly Read[])[] = [];
  for (const line of text.split("\n")) {
    if (/^-+$/.test(line)) continue;
    const row = rowOf(line, marks);
    if (row === null) return null;
    rows.push(row);
  }
  const bars = text.split("\n").filter((line) => line.includes("|"));
  const box = boxes.get(rows.length);
  if (box === undefined || bars.some((line) => line.split("|").length !== box)) return null;
  return bars.length === rows.length ? drawn(rows) : null;
};

const framed = /^=+\nSUDOKU PUZZLE\n=+\n([\s\S]+?)\n\nLegend: /;

/** `.` or a number in base 17, so that 16 is G. */
const symbols = (text: string): SudokuDrawing | null =>
  drawn(
    text.split("\n").map((line) =>
      Array.from(line, (symbol) => ({
        number: symbol === "." ? 0 : /^[1-9A-G]$/.test(symbol) ? Number.parseInt(symbol, 17) : Number.NaN,
        given: null,
        marked: null,
      })),
    ),
  );

export const readSudoku = (text: string): SudokuDrawing | null => {
  const marked = framed.exec(text)?.[1];
  if (marked !== undefined) return printed(marked, true);
  return text.includes("|") ? printed(text, false) : symbols(text);
};

/** With the numbers of an episode's first board marked as the puzzle's. */
export const withGivens = (drawing: SudokuDrawing, first: SudokuDrawing): SudokuDrawing => {
  const isComplete = drawing.cells.every(({ given }) => given !== null);
  if (isComplete || first.cells.length !== drawing.cells.length) return drawing;
  const same = first.cells.every(({ number }, at) => number === 0 || number === drawing.cells[at]?.number);
  if (!same) return drawing;
  const cells = drawing.cells.map((cell, at) => ({ ...cell, given: first.cells[at]?.number !== 0 }));
  return { ...drawing, cells };
};
