/**
 * `pov`: where one object lies in the view of another, which looks where its front does. `bwd_pov`: the view is given, and the question is
 * whose it is; no other object has the asked one at the same place of its view.
 */

import { placeIn } from "../observation.ts";
import type { Room } from "../Room.ts";
import { distance, egoDirection, egoDirections, sees, type Thing } from "../Space.ts";
import { type Maker, withChoices } from "./Question.ts";
import { nearMisses, neighbours } from "./relations.ts";

/** Pairs of a viewing object and one that it sees. */
const views = ({ things, view }: Room): readonly (readonly [viewer: Thing, seen: Thing])[] =>
  things.flatMap((viewer) => things.filter((seen) => sees(viewer, seen, view)).map((seen) => [viewer, seen] as const));

/** Directions that can be seen under a field of view. */
const seeable = (view: Room["view"]): readonly string[] => (view === 180 ? egoDirections : egoDirections.slice(1, -1));

export const perspective: Maker = (room, random) => {
  const pairs = views(room);
  if (pairs.length === 0) return null;
  const [viewer, seen] = random.pick(pairs);
  const direction = egoDirection(viewer, seen);
  return withChoices(
    `Imagine that you stand where the ${viewer.name} is and face where it faces. Where is the ${seen.name} from there?`,
    `${seen.name} seen by ${viewer.name}`,
    placeIn(viewer, seen),
    nearMisses(direction, neighbours(seeable(room.view), direction), distance(viewer, seen), random),
    random,
  );
};

export const backwardPerspective: Maker = (room, random) => {
  const pairs = views(room);
  if (pairs.length === 0) return null;
  const [viewer, seen] = random.pick(pairs);
  const place = placeIn(viewer, seen);
  const others = room.things.filter((thing) => thing !== viewer && thing !== seen);
  if (others.some((other) => sees(other, seen, room.view) && placeIn(other, seen) === place)) return null;
  return withChoices(
    `You stand where one of the objects is and face where it faces. From there the ${seen.name} is ${place}. Which object is it?`,
    `who sees ${seen.name} ${place}`,
    viewer.name,
    others.map(({ name }) => name),
    random,
  );
};
