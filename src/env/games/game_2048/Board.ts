/**
 * The board of 2048: a move slides every line towards one side. Equal neighbours merge in pairs, the pair nearest that side first and no tile
 * twice. Cells are row-major exponents, 0 for empty: a tile shows 2 to its exponent. The functions are pure, and nothing here is random.
 */

export type Cells = readonly number[];

/** The directions in the order of RAGEN's ids. */
export const directions = ["Up", "Right", "Down", "Left"] as const;

export interface SlideResult {
  /** The cells after the slide; the same array if nothing moves. */
  readonly cells: Cells;
  /** The sum of the tiles that merging made. */
  readonly points: number;
}

/** The number on the tile of an exponent. */
export const tileValue = (exponent: number): number => (exponent === 0 ? 0 : 2 ** exponent);

/** The cell of line `line` that is `place` steps away from the side to which tiles slide. */
const cellAt = (size: number, direction: number, line: number, place: number): number => {
  switch (direction) {
    case 0:
      return place * size + line;
    case 1:
      return line * size + size - 1 - place;
    case 2:
      return (size - 1 - place) * size + line;
    default:
      return line * size + place;
  }
};

/** The board after a move in a direction (an index of `directions`), before a new tile. */
export const slide = (size: number, cells: Cells, direction: number): SlideResult => {
  const after: number[] = new Array(cells.length).fill(0);
  let points = 0;
  let moved = false;
  for (let line = 0; line < size; line++) {
    let filled = 0;
    /** The exponent of the last tile laid down, as long as it may still merge. */
    let open = 0;
    for (let place = 0; place < size; place++) {
      const exponent = cells[cellAt(size, direction, line, place)]!;
      if (exponent === 0) continue;
      if (exponent === open) {
        after[cellAt(size, direction, line, filled - 1)] = exponent + 1;
        points += 2 ** (exponent + 1);
        open = 0;
        moved = true;
        continue;
      }
      after[cellAt(size, direction, line, filled)] = exponent;
      if (filled !== place) moved = true;
      filled++;
      open = exponent;
    }
  }
  return moved ? { cells: after, points } : { cells, points: 0 };
};

/** The directions in which something moves. */
export const movableDirections = (size: number, cells: Cells): readonly number[] =>
  directions.flatMap((_, direction) => (slide(size, cells, direction).cells === cells ? [] : [direction]));

export const emptyCells = (cells: Cells): readonly number[] =>
  cells.flatMap((exponent, index) => (exponent === 0 ? [index] : []));
