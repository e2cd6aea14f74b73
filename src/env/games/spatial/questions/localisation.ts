/**
 * Makes `fwd_loc` and `bwd_loc`. The first gives a place and a facing on a map whose origin is an object, and asks for the view. The second gives the
 * view and asks for the place. Invariants: every wrong choice has another view, and the origin is not in view, so it has to be remembered.
 */
import type { Random } from "../../../../domain/Random.ts";
import { observationText, visibleObjects } from "../observation.ts";
import type { SpatialRoom } from "../Room.ts";
import { facingNames, facings, type Pose, type RoomObject } from "../Space.ts";
import { type QuestionMaker, withChoices } from "./Question.ts";
import { freeCells, otherViews, viewText } from "./views.ts";

interface ViewPoint {
  readonly pose: Pose;
  readonly origin: RoomObject;
}

const poses = (room: SpatialRoom, random: Random): readonly Pose[] =>
  random.shuffle(freeCells(room).flatMap((cell) => facings.map((facing) => ({ ...cell, facing }))));

/** A pose that sees an object and does not see another. */
const drawViewPoint = (room: SpatialRoom, random: Random): ViewPoint | null => {
  for (const pose of poses(room, random)) {
    const inView = visibleObjects(room, pose);
    if (inView.length === 0 || inView.length === room.things.length) continue;
    return { pose, origin: random.pick(room.things.filter((thing) => !inView.includes(thing))) };
  }
  return null;
};

const mapCoordinates = ({ origin, pose }: ViewPoint): string => `(${pose.x - origin.x}, ${pose.y - origin.y})`;
const originText = ({ origin }: ViewPoint): string =>
  `Take the ${origin.name} as the origin (0, 0) of a map, x growing to the east and y to the north, your first facing being north.`;

export const localisation: QuestionMaker = (room, random) => {
  const from = drawViewPoint(room, random);
  if (from === null) return null;
  const facing = facingNames[from.pose.facing];
  return withChoices(
    `${originText(from)} You go to ${mapCoordinates(from)} and face ${facing}. What do you see?`,
    `from ${mapCoordinates(from)} of ${from.origin.name} facing ${facing}`,
    viewText(room, from.pose),
    otherViews(room, from.pose, random, from.origin.name),
    random,
  );
};

export const backwardLocalisation: QuestionMaker = (room, random) => {
  const from = drawViewPoint(room, random);
  if (from === null) return null;
  const view = viewText(room, from.pose);
  const text = (pose: Pose): string => `${mapCoordinates({ ...from, pose })} facing ${facingNames[pose.facing]}`;
  const wrong = poses(room, random)
    .filter((pose) => viewText(room, pose) !== view)
    .slice(0, 8);
  return withChoices(
    `You are put to another place and another facing. ${observationText(room, from.pose)}\n${originText(from)} What are your coordinates and your facing?`,
    `where from ${from.origin.name} see ${view}`,
    text(from.pose),
    wrong.map(text),
    random,
  );
};
