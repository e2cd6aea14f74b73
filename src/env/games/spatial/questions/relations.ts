/**
 * Wrong relations that are nearly right. A relation is a direction and a distance; the wrong ones change the direction to the next one, the
 * distance to the next one, and both. Each direction and each distance then occurs twice, so that the choices do not reveal the right one.
 */
import type { Random } from "../../../../domain/Random.ts";
import { type Distance, distances } from "../Space.ts";

/** The text of a relation in a choice. */
export const relationText = (direction: string, distance: Distance): string => `${direction}, ${distance}`;

const distanceNames = distances.map(([name]) => name);

/** The neighbours of an item in a list; an item at an end has only one. */
export const neighbours = <A>(list: readonly A[], item: A): readonly A[] => {
  const at = list.indexOf(item);
  return [list[at - 1], list[at + 1]].filter((next) => next !== undefined);
};

/** The three wrong relations; `directions` are the neighbours of the right direction. */
export const nearMisses = (
  direction: string,
  directions: readonly string[],
  distance: Distance,
  random: Random,
): readonly string[] => {
  const aside = random.pick(directions);
  const off = random.pick(neighbours(distanceNames, distance));
  return [relationText(aside, distance), relationText(direction, off), relationText(aside, off)];
};
