/** Writes views as choices: the view from a pose, and views that are wrong for it. */
import type { Random } from "../../../../domain/Random.ts";
import { viewLines } from "../observation.ts";
import { cellsOf, type SpatialRoom } from "../Room.ts";
import { facings, isSameCell, type Pose } from "../Space.ts";

/** Writes the view from a pose as one line. */
export const viewText = (room: SpatialRoom, pose: Pose): string => viewLines(room, pose).join("; ");

export const freeCells = (room: SpatialRoom): readonly { readonly x: number; readonly y: number }[] =>
  cellsOf(room).filter((cell) => !room.things.some((thing) => isSameCell(thing, cell)));

/**
 * The views from other poses that have a line which this pose does not see: turned on the spot, at the objects' cells, and at some free cells.
 * No view contains an object named `without`.
 */
export const otherViews = (room: SpatialRoom, pose: Pose, random: Random, without?: string): readonly string[] => {
  const ownLines = new Set(viewLines(room, pose));
  const near = random.shuffle(freeCells(room)).slice(0, 6);
  const poses = [pose, ...room.things, ...near].flatMap(({ x, y }) => facings.map((facing) => ({ x, y, facing })));
  return poses
    .map((other) => viewLines(room, other))
    .filter((lines) => lines.some((line) => !ownLines.has(line)))
    .filter((lines) => without === undefined || !lines.some((line) => line.startsWith(`${without}:`)))
    .map((lines) => lines.join("; "));
};
