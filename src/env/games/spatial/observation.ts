/** Writes the view from a pose in words, as a pure function of the room and the pose. */
import type { SpatialRoom } from "./Room.ts";
import {
  cardinal,
  distance,
  egoDirection,
  isInView,
  type Pose,
  type RoomObject,
  relativeFacing,
  squaredDistance,
} from "./Space.ts";

/** Objects within this squared distance of each other are also related to each other. */
const closeSquaredDistance = 4;

export const visibleObjects = (
  { things, view }: Pick<SpatialRoom, "things" | "view">,
  pose: Pose,
): readonly RoomObject[] => things.filter((thing) => isInView(pose, thing, view));

/** The place of an object in a view: `front-left, near`. */
export const viewPlaceText = (pose: Pose, thing: RoomObject): string =>
  `${egoDirection(pose, thing)}, ${distance(pose, thing)}`;

/** One line for each object in view, in the room's order: `sofa: front-left, near, facing right`. */
export const viewLines = (room: Pick<SpatialRoom, "things" | "view">, pose: Pose): readonly string[] =>
  visibleObjects(room, pose).map(
    (thing) => `${thing.name}: ${viewPlaceText(pose, thing)}, facing ${relativeFacing(pose, thing)}`,
  );

/** The relations between visible objects close to each other; the viewer's facing is called north. */
const closeLines = (room: Pick<SpatialRoom, "things" | "view">, pose: Pose): readonly string[] => {
  const shown = visibleObjects(room, pose);
  return shown.flatMap((one, at) =>
    shown
      .slice(at + 1)
      .filter((other) => squaredDistance(one, other) <= closeSquaredDistance)
      .map((other) => `${one.name} is ${cardinal(other, one, pose.facing)}, ${distance(other, one)} of ${other.name}`),
  );
};

export const observationText = (room: Pick<SpatialRoom, "things" | "view">, pose: Pose): string => {
  const lines = viewLines(room, pose);
  if (lines.length === 0) return "You see no object.";
  const close = closeLines(room, pose);
  return [
    "You see:",
    ...lines.map((line) => `- ${line}`),
    ...(close.length === 0 ? [] : ["Close together, calling your facing north:", ...close.map((line) => `- ${line}`)]),
  ].join("\n");
};
