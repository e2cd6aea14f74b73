/** Reads lakes of FrozenLake: square, with one player and one goal. */
import type { LakeCell, LakeDrawing } from "./Drawing.ts";
import { type Board, count, glyphTable, readBoard, readCoordinates } from "./gridText.ts";

/** The symbols that a run file may replace, by their codes. */
export const codes: Readonly<Record<string, readonly [string, LakeCell]>> = {
  "0": ["P", "player"],
  "1": ["_", "ice"],
  "2": ["O", "hole"],
  "3": ["G", "goal"],
  "4": ["X", "player in hole"],
  "5": ["√", "player on goal"],
};

const labels = ["Start", "Goal", "Player", "Player on goal", "Player in hole", "Holes"] as const;

/** Start, goal and holes are listed whatever stands on them. */
const located = (text: string): Board<LakeCell> | null => {
  const read = readCoordinates(text, labels);
  if (read === null) return null;
  const { rows, cols, cells } = read;
  const board: LakeCell[] = Array.from({ length: rows * cols }, () => "ice");
  if (cells.Start.length !== 1 || cells.Goal.length !== 1) return null;
  const layout: readonly (readonly [readonly number[], LakeCell])[] = [
    [cells.Start, "start"],
    [cells.Goal, "goal"],
    [cells.Holes, "hole"],
  ];
  for (const [places, kind] of layout) {
    for (const cell of places) {
      if (board[cell] !== "ice") return null;
      board[cell] = kind;
    }
  }
  const stand: readonly (readonly [readonly number[], readonly LakeCell[], LakeCell])[] = [
    [cells.Player, ["ice", "start"], "player"],
    [cells["Player on goal"], ["goal"], "player on goal"],
    [cells["Player in hole"], ["hole"], "player in hole"],
  ];
  for (const [places, on, kind] of stand) {
    for (const cell of places) {
      if (!on.includes(board[cell] ?? "player")) return null;
      board[cell] = kind;
    }
  }
  return { rows, cols, cells: board };
};

/** Only coordinates show the start. */
const mergeCells = (drawn: LakeCell, listed: LakeCell): LakeCell | null =>
  drawn === (listed === "start" ? "ice" : listed) ? listed : null;

const plausible = ({ rows, cols, cells }: Board<LakeCell>): boolean =>
  rows === cols &&
  rows > 1 &&
  count(cells, "player", "player in hole", "player on goal") === 1 &&
  count(cells, "goal", "player on goal") === 1;

export const readLake = (text: string, config: Readonly<Record<string, unknown>>): LakeDrawing | null => {
  const board = readBoard(text, glyphTable(codes, config.grid_lookup), located, mergeCells);
  return board === null || !plausible(board) ? null : { kind: "frozen_lake", ...board };
};
