/** The view from a pose in words: a pure function of the room and the pose. */
import type { Room } from "./Room.ts";
import {
  cardinal,
  distance,
  egoDirection,
  type Pose,
  relativeFacing,
  sees,
  squaredDistance,
  type Thing,
} from "./Space.ts";

/** Objects this close to each other are also related to each other; the square of the distance. */
const mutuallyClose = 4;

export const visible = ({ things, view }: Pick<Room, "things" | "view">, pose: Pose): readonly Thing[] =>
  things.filter((thing) => sees(pose, thing, view));

/** Where a thing is in a view: `front-left, near`. */
export const placeIn = (pose: Pose, thing: Thing): string => `${egoDirection(pose, thing)}, ${distance(pose, thing)}`;

/** One line an object, in the room's order: `sofa: front-left, near, facing right`. */
export const viewLines = (room: Pick<Room, "things" | "view">, pose: Pose): readonly string[] =>
  visible(room, pose).map((thing) => `${thing.name}: ${placeIn(pose, thing)}, facing ${relativeFacing(pose, thing)}`);

/** Relations between visible objects close to each other; what the viewer faces is called north. */
const closeLines = (room: Pick<Room, "things" | "view">, pose: Pose): readonly string[] => {
  const shown = visible(room, pose);
  return shown.flatMap((one, at) =>
    shown
      .slice(at + 1)
      .filter((other) => squaredDistance(one, other) <= mutuallyClose)
      .map((other) => `${one.name} is ${cardinal(other, one, pose.facing)}, ${distance(other, one)} of ${other.name}`),
  );
};

export const observationText = (room: Pick<Room, "things" | "view">, pose: Pose): string => {
  const seen = viewLines(room, pose);
  if (seen.length === 0) return "You see no object.";
  const close = closeLines(room, pose);
  return [
    "You see:",
    ...seen.map((line) => `- ${line}`),
    ...(close.length === 0 ? [] : ["Close together, calling your facing north:", ...close.map((line) => `- ${line}`)]),
  ].join("\n");
};
