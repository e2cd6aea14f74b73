/**
 * Runs a sequence of movements from a pose: the pose it leads to, and what happened. A movement that cannot be done ends the sequence with
 * an observation, as in Theory of Space.
 */
import type { Movement } from "./actions.ts";
import type { Room } from "./Room.ts";
import { type Pose, sees, turned } from "./Space.ts";

export interface Exploration {
  readonly pose: Pose;
  /** A sentence a movement. */
  readonly done: readonly string[];
  readonly failed: boolean;
}

const quarters: ReadonlyMap<number, number> = new Map([-270, -180, -90, 0, 90, 180, 270].map((at) => [at, at / 90]));

/** The pose after a movement, or why it cannot be done. */
const moved = (room: Room, seen: readonly string[], pose: Pose, movement: Movement): Pose | string => {
  switch (movement._tag) {
    case "Return":
      return room.start;
    case "Rotate": {
      const turn = quarters.get(movement.degrees);
      if (turn === undefined) return `${movement.degrees} degrees is not one of ${[...quarters.keys()].join(", ")}`;
      return { ...pose, facing: turned(pose.facing, turn) };
    }
    case "JumpTo": {
      const thing = room.things.find(({ name }) => name === movement.name);
      if (thing === undefined) return "there is no such object";
      if (!seen.includes(thing.name)) return "it has not been observed yet";
      if (!sees(pose, thing, room.view)) return "it is not in view";
      return { x: thing.x, y: thing.y, facing: pose.facing };
    }
  }
};

const sentence = (movement: Movement): string => {
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

const attempt = (movement: Movement): string =>
  movement._tag === "JumpTo" ? `jump to ${movement.name}` : movement._tag === "Rotate" ? "turn" : "return";

export const explore = (
  room: Room,
  seen: readonly string[],
  start: Pose,
  movements: readonly Movement[],
): Exploration => {
  const done: string[] = [];
  let pose = start;
  for (const movement of movements) {
    const next = moved(room, seen, pose, movement);
    if (typeof next === "string") {
      done.push(`You cannot ${attempt(movement)}: ${next}. The rest is skipped; you observe instead.`);
      return { pose, done, failed: true };
    }
    pose = next;
    done.push(sentence(movement));
  }
  return { pose, done, failed: false };
};
