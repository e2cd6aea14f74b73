/**
 * The geometry of a room and its words: cells (x to the east, y to the north), poses, fields of view, and bins of directions and distances. The bins
 * are those of the Theory of Space benchmark (Zhang et al., arXiv 2602.07055); they use integer arithmetic, so that no cell falls between two.
 */

export interface Cell {
  readonly x: number;
  readonly y: number;
}

/** A facing counts quarter turns clockwise from north: 0 north, 1 east, 2 south, 3 west. */
export type Facing = 0 | 1 | 2 | 3;

export interface Pose extends Cell {
  readonly facing: Facing;
}

/** An object of a room, with a name, a place and a front. */
export interface RoomObject extends Pose {
  readonly name: string;
}

/** The field of view in degrees, half of it to either side. */
export type FieldOfView = 90 | 180;

export const facings = [0, 1, 2, 3] as const;
export const facingNames = ["north", "east", "south", "west"] as const;

const aheadOffsets: readonly Cell[] = [
  { x: 0, y: 1 },
  { x: 1, y: 0 },
  { x: 0, y: -1 },
  { x: -1, y: 0 },
];

export const rotateFacing = (facing: Facing, quarters: number): Facing =>
  ((((facing + quarters) % 4) + 4) % 4) as Facing;

export const isSameCell = (a: Cell, b: Cell): boolean => a.x === b.x && a.y === b.y;

/** The distances of a cell ahead of a pose and to its right; negative behind and to the left. */
const offset = (from: Pose, to: Cell): { readonly forward: number; readonly right: number } => {
  const { x, y } = aheadOffsets[from.facing]!;
  const east = to.x - from.x;
  const north = to.y - from.y;
  return { forward: east * x + north * y, right: east * y - north * x };
};

/** True if a cell is in the field of view of a pose, whose own cell is not. */
export const isInView = (from: Pose, to: Cell, view: FieldOfView): boolean => {
  const { forward, right } = offset(from, to);
  if (forward === 0 && right === 0) return false;
  return view === 90 ? forward > 0 && Math.abs(right) <= forward : forward >= 0;
};

/** True if `across` lies within 22.5 degrees of `along`: across / along < sqrt(2) - 1, without roots. */
const isNarrow = (along: number, across: number): boolean => (along + across) ** 2 < 2 * along ** 2;

/** The directions in the field of view, from left to right. */
export const egoDirections = [
  "left",
  "front-left",
  "front-slight-left",
  "front",
  "front-slight-right",
  "front-right",
  "right",
] as const;
export type EgoDirection = (typeof egoDirections)[number];

/** The directions on the map, clockwise. */
export const cardinals = [
  "north",
  "north-east",
  "east",
  "south-east",
  "south",
  "south-west",
  "west",
  "north-west",
] as const;
export type Cardinal = (typeof cardinals)[number];

/** The bins of distances from near to far, each with the largest squared distance in it. */
export const distances = [
  ["near", 4],
  ["mid distance", 16],
  ["slightly far", 64],
  ["far", 256],
  ["very far", 1024],
  ["extremely far", 4096],
] as const;
export type Distance = (typeof distances)[number][0];

/** The direction of a cell in the view of a pose that sees it. */
export const egoDirection = (from: Pose, to: Cell): EgoDirection => {
  const { forward, right } = offset(from, to);
  if (right === 0) return "front";
  const across = Math.abs(right);
  const side = right < 0 ? "left" : "right";
  if (isNarrow(forward, across)) return `front-slight-${side}`;
  return across <= forward ? `front-${side}` : side;
};

/** The direction of `to` from `from`, which are different cells; `north` is the facing that counts as north. */
export const cardinal = (from: Cell, to: Cell, north: Facing = 0): Cardinal => {
  const { forward, right } = offset({ x: from.x, y: from.y, facing: north }, to);
  const along = Math.abs(forward);
  const across = Math.abs(right);
  if (isNarrow(along, across)) return forward > 0 ? "north" : "south";
  if (isNarrow(across, along)) return right > 0 ? "east" : "west";
  return `${forward > 0 ? "north" : "south"}-${right > 0 ? "east" : "west"}`;
};

export const squaredDistance = (a: Cell, b: Cell): number => (a.x - b.x) ** 2 + (a.y - b.y) ** 2;

export const distance = (a: Cell, b: Cell): Distance => {
  const squared = squaredDistance(a, b);
  return (distances.find(([, most]) => squared <= most) ?? distances[distances.length - 1]!)[0];
};

/** The facing of an object in the view of a pose: forward as the viewer does, backward towards it. */
export const relativeFacing = (from: Pose, thing: RoomObject): "forward" | "right" | "backward" | "left" =>
  (["forward", "right", "backward", "left"] as const)[rotateFacing(thing.facing, -from.facing)]!;

/** The angle of a cell in degrees clockwise from the facing of a pose, in [0, 360). */
export const bearing = (from: Pose, to: Cell): number => {
  const { forward, right } = offset(from, to);
  const degrees = (Math.atan2(right, forward) * 180) / Math.PI;
  return degrees < 0 ? degrees + 360 : degrees;
};

/** The facing whose field of view of 90 degrees contains a cell. */
export const facingTo = (from: Cell, to: Cell): Facing =>
  facings.find((facing) => isInView({ x: from.x, y: from.y, facing }, to, 90)) ?? 0;
