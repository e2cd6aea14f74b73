/**
 * Wrong relations that are nearly right. A relation is a direction and a distance; beside the right one stand the next direction, the next
 * distance, and both. Each direction and each distance then occurs twice, so that the choices alone do not reveal the right one.
 */
import type { Random } from "../../../../domain/Random.ts";
import { type Distance, distances } from "../Space.ts";

/** Its text in a choice. */
export const relationText = (direction: string, distance: Distance): string => `${direction}, ${distance}`;

const distanceNames = distances.map(([name]) => name);

/** The entries next to one in a list; at the ends only one. */
export const neighbours = <A>(list: readonly A[], entry: A): readonly A[] => {
  const at = list.indexOf(entry);
  return [list[at - 1], list[at + 1]].filter((next) => next !== undefined);
};

/** @param directions those next to the right one */
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
