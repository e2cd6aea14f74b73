/** Reads boards of 2048: rows of tiles in brackets, or one symbol a cell. */
import type { TilesDrawing } from "./Drawing.ts";

const rowLine = /^Row (\d): \[(\d+(?:, \d+)*)\]$/;
const scoreLine = /^Current Score: (\d{1,15})$/m;

const isTile = (tile: number): boolean => tile === 0 || (tile >= 2 && Number.isInteger(Math.log2(tile)));

const squareOf = (rows: readonly (readonly number[])[]): TilesDrawing | null => {
  const size = rows.length;
  if (size < 2 || size > 5 || rows.some((row) => row.length !== size)) return null;
  const cells = rows.flat();
  return cells.every(isTile) ? { kind: "game_2048", rows: size, cols: size, cells } : null;
};

const bracketed = (text: string): TilesDrawing | null => {
  const lines = text.split("\n");
  if (lines[0] !== "Current 2048 Grid:") return null;
  const rows: (readonly number[])[] = [];
  for (const line of lines.slice(1)) {
    if (line === "") break;
    const [, name, tiles] = rowLine.exec(line) ?? [];
    if (tiles === undefined || Number(name) !== rows.length + 1) return null;
    rows.push(tiles.split(", ").map(Number));
  }
  const board = squareOf(rows);
  const score = scoreLine.exec(text)?.[1];
  return board === null || score === undefined ? board : { ...board, score: Number(score) };
};

/** The tile of a symbol: `.` none, 1 to 9 and then A on, its exponent of two. NaN of any other. */
const tileOf = (glyph: string): number => {
  if (glyph === ".") return 0;
  if (/^[1-9]$/.test(glyph)) return 2 ** Number(glyph);
  return /^[A-Z]$/.test(glyph) ? 2 ** (10 + glyph.charCodeAt(0) - "A".charCodeAt(0)) : Number.NaN;
};

export const read2048 = (text: string): TilesDrawing | null =>
  bracketed(text) ?? squareOf(text.split("\n").map((row) => Array.from(row, tileOf)));
