/**
 * Makes `pov`, which asks for the place of one object in the view of another, and `bwd_pov`, which gives the place and asks for the viewer.
 * Invariant: no other object has the seen one at the same place of its view.
 */

import { viewPlaceText } from "../observation.ts";
import type { SpatialRoom } from "../Room.ts";
import { distance, egoDirection, egoDirections, isInView, type RoomObject } from "../Space.ts";
import { type QuestionMaker, withChoices } from "./Question.ts";
import { nearMisses, neighbours } from "./relations.ts";

/** The pairs of a viewing object and one that it sees. */
const viewerPairs = ({ things, view }: SpatialRoom): readonly (readonly [viewer: RoomObject, seen: RoomObject])[] =>
  things.flatMap((viewer) =>
    things.filter((seen) => isInView(viewer, seen, view)).map((seen) => [viewer, seen] as const),
  );

/** The directions in which a field of view shows objects. */
const visibleDirections = (view: SpatialRoom["view"]): readonly string[] =>
  view === 180 ? egoDirections : egoDirections.slice(1, -1);

export const perspective: QuestionMaker = (room, random) => {
  const pairs = viewerPairs(room);
  if (pairs.length === 0) return null;
  const [viewer, seen] = random.pick(pairs);
  const direction = egoDirection(viewer, seen);
  return withChoices(
    `Imagine that you stand where the ${viewer.name} is and face where it faces. Where is the ${seen.name} from there?`,
    `${seen.name} seen by ${viewer.name}`,
    viewPlaceText(viewer, seen),
    nearMisses(direction, neighbours(visibleDirections(room.view), direction), distance(viewer, seen), random),
    random,
  );
};

export const backwardPerspective: QuestionMaker = (room, random) => {
  const pairs = viewerPairs(room);
  if (pairs.length === 0) return null;
  const [viewer, seen] = random.pick(pairs);
  const place = viewPlaceText(viewer, seen);
  const others = room.things.filter((thing) => thing !== viewer && thing !== seen);
  if (others.some((other) => isInView(other, seen, room.view) && viewPlaceText(other, seen) === place)) return null;
  return withChoices(
    `You stand where one of the objects is and face where it faces. From there the ${seen.name} is ${place}. Which object is it?`,
    `who sees ${seen.name} ${place}`,
    viewer.name,
    others.map(({ name }) => name),
    random,
  );
};
