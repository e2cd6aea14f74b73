/** Views as choices: what is seen from a pose, and views that are not seen from there. */
import type { Random } from "../../../../domain/Random.ts";
import { viewLines } from "../observation.ts";
import { cellsOf, type Room } from "../Room.ts";
import { facings, type Pose, sameCell } from "../Space.ts";

/** As one line. */
export const viewText = (room: Room, pose: Pose): string => viewLines(room, pose).join("; ");

export const freeCells = (room: Room): readonly { readonly x: number; readonly y: number }[] =>
  cellsOf(room).filter((cell) => !room.things.some((thing) => sameCell(thing, cell)));

/**
 * Views from other poses that hold a line this pose does not see: turned on the spot, from where the objects are, from a free cell near by.
 * @param without a name no view may hold
 */
export const otherViews = (room: Room, pose: Pose, random: Random, without?: string): readonly string[] => {
  const seen = new Set(viewLines(room, pose));
  const near = random.shuffle(freeCells(room)).slice(0, 6);
  const poses = [pose, ...room.things, ...near].flatMap(({ x, y }) => facings.map((facing) => ({ x, y, facing })));
  return poses
    .map((other) => viewLines(room, other))
    .filter((lines) => lines.some((line) => !seen.has(line)))
    .filter((lines) => without === undefined || !lines.some((line) => line.startsWith(`${without}:`)))
    .map((lines) => lines.join("; "));
};
