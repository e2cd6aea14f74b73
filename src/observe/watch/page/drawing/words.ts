/** A drawing in words, for those who do not see it, and the cells in which two drawings differ. */
import { type CubeDrawing, type Drawing, faces } from "./Drawing.ts";

const place = (cols: number, at: number): string => `(${Math.floor(at / cols) + 1}, ${(at % cols) + 1})`;

/** The places of each kind of cell, rows and columns counted from 1; ground is left out. */
const things = (cols: number, cells: readonly string[], ground: readonly string[]): string => {
  const places = new Map<string, string[]>();
  for (const [at, cell] of cells.entries()) {
    if (!ground.includes(cell)) places.set(cell, [...(places.get(cell) ?? []), place(cols, at)]);
  }
  return [...places].map(([cell, at]) => `${cell} ${at.join(" ")}`).join(", ");
};

const names: Readonly<Record<Drawing["kind"], string>> = {
  sokoban: "Sokoban",
  frozen_lake: "FrozenLake",
  game_2048: "2048",
  sudoku: "Sudoku",
  rubikscube: "2x2 cube",
};

const cubeWords = (cube: CubeDrawing): string => faces.map((face) => `${face} ${cube.faces[face].join("")}`).join(", ");

const contents = (drawing: Drawing): string => {
  switch (drawing.kind) {
    case "sokoban":
      return things(drawing.cols, drawing.cells, ["wall", "floor", "unknown"]);
    case "frozen_lake":
      return things(drawing.cols, drawing.cells, ["ice"]);
    case "game_2048":
      return rowsOf(drawing.cols, drawing.cells);
    case "sudoku":
      return rowsOf(
        drawing.cols,
        drawing.cells.map(({ number }) => number),
      );
    case "rubikscube":
      return cubeWords(drawing);
  }
};

const rowsOf = (cols: number, numbers: readonly number[]): string =>
  Array.from({ length: numbers.length / cols }, (_, row) =>
    numbers
      .slice(row * cols, (row + 1) * cols)
      .map((number) => (number === 0 ? "–" : number))
      .join(" "),
  ).join("; ");

export const words = (drawing: Drawing): string => `${names[drawing.kind]}: ${contents(drawing)}`;

/** Cells as texts that are equal where the cells are; those of a cube face by face. */
const cellsOf = (drawing: Drawing): readonly string[] => {
  switch (drawing.kind) {
    case "rubikscube":
      return faces.flatMap((face) => drawing.faces[face]);
    case "sudoku":
      return drawing.cells.map(({ number }) => String(number));
    default:
      return drawing.cells.map(String);
  }
};

const sameShape = (a: Drawing, b: Drawing): boolean =>
  a.kind === b.kind && (a.kind === "rubikscube" || b.kind === "rubikscube" || (a.rows === b.rows && a.cols === b.cols));

/** Indices of the cells that differ; none where the drawings are not of one shape. */
export const changes = (before: Drawing | null, after: Drawing): ReadonlySet<number> => {
  if (before === null || !sameShape(before, after)) return new Set();
  const was = cellsOf(before);
  return new Set(cellsOf(after).flatMap((cell, at) => (cell === was[at] ? [] : [at])));
};
