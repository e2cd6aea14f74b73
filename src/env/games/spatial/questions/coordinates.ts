/**
 * Makes `e2a`: the choice is between lists of places and facings of three objects, on a map whose origin is the start. Every wrong choice has two
 * objects that face another way, or lie in another direction or at another distance from the start, by the words of an observation.
 */
import type { Random } from "../../../../domain/Random.ts";
import { cellsOf, type SpatialRoom } from "../Room.ts";
import { cardinal, distance, facingNames, facings, isSameCell, type RoomObject } from "../Space.ts";
import { type QuestionMaker, withChoices } from "./Question.ts";

const objectCount = 3;

const mapText = ({ start }: SpatialRoom, things: readonly RoomObject[]): string =>
  things
    .map(({ facing, name, x, y }) => `${name}: ((${x - start.x}, ${y - start.y}), ${facingNames[facing]})`)
    .join(", ");

const movedObject = (room: SpatialRoom, thing: RoomObject, random: Random): RoomObject | null => {
  const { start, things } = room;
  const cells = cellsOf(room).filter(
    (cell) =>
      ![start, ...things].some((occupied) => isSameCell(cell, occupied)) &&
      (cardinal(start, cell) !== cardinal(start, thing) || distance(start, cell) !== distance(start, thing)),
  );
  return cells.length === 0 ? null : { ...thing, ...random.pick(cells) };
};

const facingAway = (thing: RoomObject, random: Random): RoomObject => ({
  ...thing,
  facing: random.pick(facings.filter((facing) => facing !== thing.facing)),
});

/** Moves the object to another place, turns it another way, or both. */
const mistakenObject = (room: SpatialRoom, thing: RoomObject, random: Random): RoomObject => {
  const how = random.int(3);
  const moved = how === 0 ? null : movedObject(room, thing, random);
  if (moved === null) return facingAway(thing, random);
  return how === 1 ? moved : facingAway(moved, random);
};

/** The wrong choices, by the objects that are right in them. Each object is right in two of the four choices and wrong in two. */
const rightEntries: readonly (readonly boolean[])[] = [
  [true, false, false],
  [false, true, false],
  [false, false, true],
];

export const coordinates: QuestionMaker = (room, random) => {
  const things = random.shuffle(room.things).slice(0, objectCount);
  const mistakes = things.map((thing) => mistakenObject(room, thing, random));
  const wrong = rightEntries.map((right) => things.map((thing, at) => (right[at] ? thing : mistakes[at]!)));
  return withChoices(
    "Take your start as the origin (0, 0) of a map, x growing to the east and y to the north, your first facing being north. Which list of objects with coordinates and facing directions is right?",
    "which map is right",
    mapText(room, things),
    wrong.map((list) => mapText(room, list)),
    random,
  );
};
