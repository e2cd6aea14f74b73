/**
 * `e2a`: which choice gives places and facings of three objects on a map whose origin is the start. Every wrong choice has two objects
 * that face another way, or that lie in another direction or at another distance from the start, by the words of an observation.
 */
import type { Random } from "../../../../domain/Random.ts";
import { cellsOf, type Room } from "../Room.ts";
import { cardinal, distance, facingNames, facings, sameCell, type Thing } from "../Space.ts";
import { type Maker, withChoices } from "./Question.ts";

const named = 3;

const mapText = ({ start }: Room, things: readonly Thing[]): string =>
  things
    .map(({ facing, name, x, y }) => `${name}: ((${x - start.x}, ${y - start.y}), ${facingNames[facing]})`)
    .join(", ");

const elsewhere = (room: Room, thing: Thing, random: Random): Thing | null => {
  const { start, things } = room;
  const cells = cellsOf(room).filter(
    (cell) =>
      ![start, ...things].some((taken) => sameCell(cell, taken)) &&
      (cardinal(start, cell) !== cardinal(start, thing) || distance(start, cell) !== distance(start, thing)),
  );
  return cells.length === 0 ? null : { ...thing, ...random.pick(cells) };
};

const otherwise = (thing: Thing, random: Random): Thing => ({
  ...thing,
  facing: random.pick(facings.filter((facing) => facing !== thing.facing)),
});

/** The object at another place, facing another way, or both. */
const mistaken = (room: Room, thing: Thing, random: Random): Thing => {
  const how = random.int(3);
  const moved = how === 0 ? null : elsewhere(room, thing, random);
  if (moved === null) return otherwise(thing, random);
  return how === 1 ? moved : otherwise(moved, random);
};

/** Of each object there is a right and a wrong entry, and either stands in two of the four choices. */
const rightEntries: readonly (readonly boolean[])[] = [
  [true, false, false],
  [false, true, false],
  [false, false, true],
];

export const coordinates: Maker = (room, random) => {
  const things = random.shuffle(room.things).slice(0, named);
  const mistakes = things.map((thing) => mistaken(room, thing, random));
  const wrong = rightEntries.map((right) => things.map((thing, at) => (right[at] ? thing : mistakes[at]!)));
  return withChoices(
    "Take your start as the origin (0, 0) of a map, x growing to the east and y to the north, your first facing being north. Which list of objects with coordinates and facing directions is right?",
    "which map is right",
    mapText(room, things),
    wrong.map((list) => mapText(room, list)),
    random,
  );
};
