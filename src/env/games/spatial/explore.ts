/**
 * Runs a sequence of movements from a pose, and reports each movement. A movement that cannot be done ends the sequence with an observation, as
 * in Theory of Space.
 */
import type { RoomMovement } from "./actions.ts";
import type { SpatialRoom } from "./Room.ts";
import { isInView, type Pose, rotateFacing } from "./Space.ts";

export interface Exploration {
  readonly pose: Pose;
  /** One sentence for each movement. */
  readonly reports: readonly string[];
  readonly hasFailed: boolean;
}

const quarters: ReadonlyMap<number, number> = new Map([-270, -180, -90, 0, 90, 180, 270].map((at) => [at, at / 90]));

/** The pose after a movement, or the reason why it cannot be done. */
const poseAfter = (room: SpatialRoom, seen: readonly string[], pose: Pose, movement: RoomMovement): Pose | string => {
  switch (movement._tag) {
    case "Return":
      return room.start;
    case "Rotate": {
      const turn = quarters.get(movement.degrees);
      if (turn === undefined) return `${movement.degrees} degrees is not one of ${[...quarters.keys()].join(", ")}`;
      return { ...pose, facing: rotateFacing(pose.facing, turn) };
    }
    case "JumpTo": {
      const thing = room.things.find(({ name }) => name === movement.name);
      if (thing === undefined) return "there is no such object";
      if (!seen.includes(thing.name)) return "it has not been observed yet";
      if (!isInView(pose, thing, room.view)) return "it is not in view";
      return { x: thing.x, y: thing.y, facing: pose.facing };
    }
  }
};

const movementReport = (movement: RoomMovement): string => {
  switch (movement._tag) {
    case "Return":
      return "You are back at your start, facing north.";
    case "Rotate": {
      const way = movement.degrees < 0 ? "counterclockwise" : "clockwise";
      return `You turn ${Math.abs(movement.degrees)} degrees ${way}.`;
    }
    case "JumpTo":
      return `You are now where the ${movement.name} is.`;
  }
};

const attemptText = (movement: RoomMovement): string =>
  movement._tag === "JumpTo" ? `jump to ${movement.name}` : movement._tag === "Rotate" ? "turn" : "return";

export const explore = (
  room: SpatialRoom,
  seen: readonly string[],
  start: Pose,
  movements: readonly RoomMovement[],
): Exploration => {
  const done: string[] = [];
  let pose = start;
  for (const movement of movements) {
    const next = poseAfter(room, seen, pose, movement);
    if (typeof next === "string") {
      done.push(`You cannot ${attemptText(movement)}: ${next}. The rest is skipped; you observe instead.`);
      return { pose, reports: done, hasFailed: true };
    }
    pose = next;
    done.push(movementReport(movement));
  }
  return { pose, reports: done, hasFailed: false };
};
