/**
 * Reads boards written as rows of symbols, as labelled coordinates, or as both. Null of any text that is not exactly such a board: rows of
 * unequal length, a symbol that means nothing, a label or a cell that does not exist.
 */

export interface Board<Cell> {
  readonly rows: number;
  readonly cols: number;
  readonly cells: readonly Cell[];
}

/** Rows of symbols, each of which means a cell. */
const readRows = <Cell>(text: string, meanings: ReadonlyMap<string, Cell>): Board<Cell> | null => {
  const rows = text.split("\n").map((row) => Array.from(row));
  const cols = rows[0]?.length ?? 0;
  if (cols === 0 || rows.some((row) => row.length !== cols)) return null;
  const cells: Cell[] = [];
  for (const glyph of rows.flat()) {
    const cell = meanings.get(glyph);
    if (cell === undefined) return null;
    cells.push(cell);
  }
  return { rows: rows.length, cols, cells };
};

export interface Coordinates<Label extends string> {
  readonly rows: number;
  readonly cols: number;
  /** Cells of each label, as indices into the row-major board. */
  readonly cells: Readonly<Record<Label, readonly number[]>>;
}

const sizeLine = /^Board size: (\d{1,3}) rows x (\d{1,3}) cols \(zero-indexed\)\.$/;
const labelLine = /^([A-Z][a-z ]*): (\(\d{1,3}, \d{1,3}\)(?:, \(\d{1,3}, \d{1,3}\))*)$/;

/** The board's size, then a line for each label that has cells. */
export const readCoordinates = <Label extends string>(
  text: string,
  labels: readonly Label[],
): Coordinates<Label> | null => {
  const [first = "", ...lines] = text.split("\n");
  const size = sizeLine.exec(first);
  if (size === null) return null;
  const [rows, cols] = [Number(size[1]), Number(size[2])];
  const found = new Map<Label, readonly number[]>();
  for (const line of lines) {
    const [, name, pairs] = labelLine.exec(line) ?? [];
    const label = labels.find((one) => one === name);
    if (label === undefined || pairs === undefined || found.has(label)) return null;
    const places = Array.from(pairs.matchAll(/(\d+), (\d+)/g), ([, row, col]) => [Number(row), Number(col)] as const);
    if (places.some(([row, col]) => row >= rows || col >= cols)) return null;
    found.set(
      label,
      places.map(([row, col]) => row * cols + col),
    );
  }
  const cellsOf = (label: Label): readonly [Label, readonly number[]] => [label, found.get(label) ?? []];
  return { rows, cols, cells: recordOf(labels.map(cellsOf)) };
};

const recordOf = <Key extends string, Value>(
  entries: readonly (readonly [Key, Value])[],
): Readonly<Record<Key, Value>> => Object.fromEntries(entries) as Record<Key, Value>;

const both = /^Coordinates: \n([\s\S]+)\nGrid Map: \n([\s\S]+)$/;

/** The two parts of a text that shows coordinates and a grid; of any other, the whole as either. */
const partsOf = (text: string): { readonly coordinates: string | null; readonly grid: string | null } => {
  const match = both.exec(text);
  if (match !== null) return { coordinates: match[1] ?? null, grid: match[2] ?? null };
  return text.startsWith("Board size: ") ? { coordinates: text, grid: null } : { coordinates: null, grid: text };
};

/** Symbols and what they mean, where a run file may replace symbols of `codes` (`grid_lookup`). */
export const glyphTable = <Cell>(
  codes: Readonly<Record<string, readonly [glyph: string, cell: Cell]>>,
  lookup: unknown,
): ReadonlyMap<string, Cell> => {
  const replaced = new Map<string, unknown>(
    typeof lookup === "object" && lookup !== null ? Object.entries(lookup) : [],
  );
  return new Map(
    Object.entries(codes).map(([code, [glyph, cell]]) => {
      const other = replaced.get(code);
      return [typeof other === "string" ? other : glyph, cell] as const;
    }),
  );
};

export const count = <Cell>(cells: readonly Cell[], ...kinds: readonly Cell[]): number =>
  cells.filter((cell) => kinds.includes(cell)).length;

/** The board of a text with a grid, coordinates or both. `mergeCells` makes one cell of both, or null if they disagree. */
export const readBoard = <Cell>(
  text: string,
  meanings: ReadonlyMap<string, Cell>,
  located: (coordinates: string) => Board<Cell> | null,
  mergeCells: (drawn: Cell, listed: Cell) => Cell | null,
): Board<Cell> | null => {
  const { coordinates, grid } = partsOf(text);
  if (grid === null) return coordinates === null ? null : located(coordinates);
  const drawn = readRows(grid, meanings);
  if (drawn === null || coordinates === null) return drawn;
  const listed = located(coordinates);
  if (listed?.rows !== drawn.rows || listed.cols !== drawn.cols) return null;
  const cells: Cell[] = [];
  for (const [at, cell] of drawn.cells.entries()) {
    const both = mergeCells(cell, listed.cells[at] ?? cell);
    if (both === null) return null;
    cells.push(both);
  }
  return { ...drawn, cells };
};
