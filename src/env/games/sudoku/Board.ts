/**
 * Sudoku boards of 4x4, 9x9 or 16x16 cells: row-major text, a dot for an empty cell and one symbol for a number (1 to 9, then A to G). The
 * functions are pure; the geometry depends only on the size and is computed once for each.
 */

export type Board = string;
export type Size = 4 | 9 | 16;

export const empty = ".";

export const symbolOf = (value: number): string => value.toString(17).toUpperCase();

/** The number of a symbol; 0 for an empty cell. */
export const numberOf = (symbol: string): number => (symbol === empty ? 0 : Number.parseInt(symbol, 17));

export interface Geometry {
  /** The side of a box. */
  readonly box: number;
  /** The cells of each row, then each column, then each box; a unit has each number once. */
  readonly units: readonly (readonly number[])[];
  /** The indices of the three units of a cell: its row, its column, its box. */
  readonly unitsOf: readonly (readonly [number, number, number])[];
  /** The other cells of a cell's units. */
  readonly peers: readonly (readonly number[])[];
}

const makeGeometry = (size: Size): Geometry => {
  const box = Math.sqrt(size);
  const cells = Array.from({ length: size * size }, (_, cell) => cell);
  const unitsOf = cells.map((cell): readonly [number, number, number] => {
    const row = Math.floor(cell / size);
    const column = cell % size;
    return [row, size + column, 2 * size + Math.floor(row / box) * box + Math.floor(column / box)];
  });
  const units = Array.from({ length: 3 * size }, (_, unit) => cells.filter((cell) => unitsOf[cell]!.includes(unit)));
  const peers = cells.map((cell) =>
    cells.filter((other) => other !== cell && unitsOf[cell]!.some((unit) => unitsOf[other]!.includes(unit))),
  );
  return { box, units, unitsOf, peers };
};

const geometries = new Map<Size, Geometry>();

export const geometry = (size: Size): Geometry => {
  const cached = geometries.get(size);
  if (cached !== undefined) return cached;
  const created = makeGeometry(size);
  geometries.set(size, created);
  return created;
};

export const withCell = (board: Board, cell: number, symbol: string): Board =>
  board.slice(0, cell) + symbol + board.slice(cell + 1);

/** The symbols that no other cell of the cell's units has, ascending. */
export const candidates = (size: Size, board: Board, cell: number): readonly string[] => {
  const usedSymbols = new Set(geometry(size).peers[cell]!.map((peer) => board[peer]));
  return Array.from({ length: size }, (_, at) => symbolOf(at + 1)).filter((symbol) => !usedSymbols.has(symbol));
};

/** The cells whose number occurs again in their row, column or box, ascending. */
export const conflicts = (size: Size, board: Board): readonly number[] => {
  const { peers } = geometry(size);
  return Array.from(board, (_, cell) => cell).filter(
    (cell) => board[cell] !== empty && peers[cell]!.some((peer) => board[peer] === board[cell]),
  );
};

export const isSolved = (size: Size, board: Board): boolean =>
  !board.includes(empty) && conflicts(size, board).length === 0;

export const filledCount = (board: Board): number => Array.from(board).filter((symbol) => symbol !== empty).length;
