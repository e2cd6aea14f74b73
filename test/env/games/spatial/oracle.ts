/**
 * The truth about a room by angles and square roots and by parsing texts, independent of the environment's integer arithmetic, so that
 * one checks the other.
 */
import type { SpatialRoom } from "../../../../src/env/games/spatial/Room.ts";
import { type Facing, facingNames, type Pose, type RoomObject } from "../../../../src/env/games/spatial/Space.ts";

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Degrees clockwise from where a pose faces, in (-180, 180]. */
export const angle = (from: Pose, to: Point): number => {
  const compass = (Math.atan2(to.x - from.x, to.y - from.y) * 180) / Math.PI;
  const relative = (((compass - 90 * from.facing) % 360) + 360) % 360;
  return relative > 180 ? relative - 360 : relative;
};

const length = (from: Point, to: Point): number => Math.hypot(to.x - from.x, to.y - from.y);

export const distanceWord = (from: Point, to: Point): string => {
  const words = ["near", "mid distance", "slightly far", "far", "very far", "extremely far"];
  return words[[2, 4, 8, 16, 32, 64].findIndex((most) => length(from, to) <= most + 1e-9)]!;
};

export const isSeen = (from: Pose, to: Point, view: number): boolean =>
  length(from, to) > 0 && Math.abs(angle(from, to)) <= view / 2 + 1e-9;

export const egoWord = (from: Pose, to: Point): string => {
  const degrees = angle(from, to);
  const size = Math.abs(degrees);
  if (size < 1e-9) return "front";
  const side = degrees < 0 ? "left" : "right";
  if (size <= 22.5) return `front-slight-${side}`;
  return size <= 45 + 1e-9 ? `front-${side}` : side;
};

const compassWords = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"];

export const cardinalWord = (from: Point, to: Point, north: Facing = 0): string => {
  const degrees = (angle({ ...from, facing: north }, to) + 360) % 360;
  return compassWords[Math.round(degrees / 45) % 8]!;
};

export const place = (from: Pose, to: Point): string => `${egoWord(from, to)}, ${distanceWord(from, to)}`;

const facingWord = (from: Pose, thing: RoomObject): string =>
  ["forward", "right", "backward", "left"][(thing.facing - from.facing + 4) % 4]!;

export const view = (room: SpatialRoom, from: Pose): readonly string[] =>
  room.things
    .filter((thing) => isSeen(from, thing, room.view))
    .map((thing) => `${thing.name}: ${place(from, thing)}, facing ${facingWord(from, thing)}`);

export const thingOf = (room: SpatialRoom, name: string): RoomObject => {
  const found = room.things.find((thing) => thing.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

export const facingOf = (name: string): Facing => facingNames.indexOf(name as (typeof facingNames)[number]) as Facing;

/** The pose to which `Rotate(90), JumpTo(sofa)` leads, even if a movement is not allowed. */
export const walked = (room: SpatialRoom, start: Pose, text: string): Pose => {
  let pose = start;
  for (const [, name, argument] of text.matchAll(/(\w+)\((.*?)\)/g)) {
    if (name === "Rotate") pose = { ...pose, facing: ((pose.facing + Number(argument) / 90 + 8) % 4) as Facing };
    else pose = { ...thingOf(room, argument!), facing: pose.facing };
  }
  return { x: pose.x, y: pose.y, facing: pose.facing };
};
