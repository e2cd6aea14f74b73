/**
 * The picture of an environment's state as data: the contents of each cell. It is read from the text that the model saw and from
 * nothing else. Invariant: contents that the text does not give are unknown, and an ambiguous text has no picture.
 */

/** `unknown`: only coordinates are shown, and they give neither walls nor free floor. */
export type SokobanCell =
  | "wall"
  | "floor"
  | "target"
  | "box on target"
  | "box"
  | "player"
  | "player on target"
  | "unknown";

/** `start` only where coordinates are shown; a grid shows it as ice. */
export type LakeCell = "player" | "ice" | "hole" | "goal" | "player in hole" | "player on goal" | "start";

/** Row-major cells. */
interface Grid<Cell> {
  readonly rows: number;
  readonly cols: number;
  readonly cells: readonly Cell[];
}

export interface SokobanDrawing extends Grid<SokobanCell> {
  readonly kind: "sokoban";
}

export interface LakeDrawing extends Grid<LakeCell> {
  readonly kind: "frozen_lake";
}

/** Cells are tiles, 0 for none. */
export interface TilesDrawing extends Grid<number> {
  readonly kind: "game_2048";
  /** Absent if the text does not give it. */
  readonly score?: number;
}

export interface SudokuCell {
  /** 0 for an empty cell. */
  readonly number: number;
  /** True if the puzzle gave it; null if the text does not say so. */
  readonly given: boolean | null;
  /** Its row, column or box holds the number again. */
  readonly conflict: boolean;
}

export interface SudokuDrawing extends Grid<SudokuCell> {
  readonly kind: "sudoku";
  /** Side of a box. */
  readonly box: number;
}

export const faces = ["U", "L", "F", "R", "B", "D"] as const;
export type Face = (typeof faces)[number];

export const colours = ["W", "O", "G", "R", "B", "Y"] as const;
export type Colour = (typeof colours)[number];

export interface CubeDrawing {
  readonly kind: "rubikscube";
  /** Four stickers of each face, row by row as one looks straight at it. */
  readonly faces: Readonly<Record<Face, readonly Colour[]>>;
}

export type Drawing = SokobanDrawing | LakeDrawing | TilesDrawing | SudokuDrawing | CubeDrawing;
