/** Reads Sokoban rooms. A room has one player, as many targets as boxes, and a wall all around. */
import type { SokobanCell, SokobanDrawing } from "./Drawing.ts";
import { type Board, count, glyphTable, readBoard, readCoordinates } from "./gridText.ts";

/** The symbols that a run file may replace, by their codes. */
export const codes: Readonly<Record<string, readonly [string, SokobanCell]>> = {
  "0": ["#", "wall"],
  "1": ["_", "floor"],
  "2": ["O", "target"],
  "3": ["√", "box on target"],
  "4": ["X", "box"],
  "5": ["P", "player"],
  "6": ["S", "player on target"],
};

const labels = ["Targets", "Boxes", "Boxes on target", "Player", "Player on target"] as const;

/** Targets are listed whatever stands on them, walls never. */
const located = (text: string): Board<SokobanCell> | null => {
  const read = readCoordinates(text, labels);
  if (read === null) return null;
  const { rows, cols, cells } = read;
  const board: SokobanCell[] = Array.from({ length: rows * cols }, () => "unknown");
  const targets = new Set(cells.Targets);
  for (const cell of targets) board[cell] = "target";
  const stand: readonly (readonly [readonly number[], boolean, SokobanCell])[] = [
    [cells.Boxes, false, "box"],
    [cells["Boxes on target"], true, "box on target"],
    [cells.Player, false, "player"],
    [cells["Player on target"], true, "player on target"],
  ];
  for (const [places, onTarget, kind] of stand) {
    for (const cell of places) {
      const free = onTarget ? "target" : "unknown";
      if (board[cell] !== free) return null;
      board[cell] = kind;
    }
  }
  return { rows, cols, cells: board };
};

const walled = ({ rows, cols, cells }: Board<SokobanCell>): boolean =>
  cells.every((cell, at) => {
    const [row, col] = [Math.floor(at / cols), at % cols];
    const edge = row === 0 || col === 0 || row === rows - 1 || col === cols - 1;
    return !edge || cell === "wall" || cell === "unknown";
  });

const plausible = (board: Board<SokobanCell>): boolean => {
  const { cells } = board;
  const boxes = count(cells, "box", "box on target");
  const targets = count(cells, "target", "box on target", "player on target");
  return count(cells, "player", "player on target") === 1 && boxes > 0 && boxes === targets && walled(board);
};

/** Only a grid shows walls and floor. */
const mergeCells = (drawn: SokobanCell, listed: SokobanCell): SokobanCell | null =>
  drawn === listed || (listed === "unknown" && (drawn === "wall" || drawn === "floor")) ? drawn : null;

export const readSokoban = (text: string, config: Readonly<Record<string, unknown>>): SokobanDrawing | null => {
  const board = readBoard(text, glyphTable(codes, config.grid_lookup), located, mergeCells);
  return board === null || !plausible(board) ? null : { kind: "sokoban", ...board };
};
