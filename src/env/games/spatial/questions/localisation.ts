/**
 * `fwd_loc`: what is seen from a place and a facing given on a map whose origin is an object. `bwd_loc`: the view is given, and the question
 * is from where it is; from every wrong choice something else is seen. The origin is not in the view, so it has to be remembered.
 */
import type { Random } from "../../../../domain/Random.ts";
import { observationText, visible } from "../observation.ts";
import type { Room } from "../Room.ts";
import { facingNames, facings, type Pose, type Thing } from "../Space.ts";
import { type Maker, withChoices } from "./Question.ts";
import { freeCells, otherViews, viewText } from "./views.ts";

interface Place {
  readonly pose: Pose;
  readonly origin: Thing;
}

const poses = (room: Room, random: Random): readonly Pose[] =>
  random.shuffle(freeCells(room).flatMap((cell) => facings.map((facing) => ({ ...cell, facing }))));

/** A pose that sees an object and does not see another. */
const place = (room: Room, random: Random): Place | null => {
  for (const pose of poses(room, random)) {
    const seen = visible(room, pose);
    if (seen.length === 0 || seen.length === room.things.length) continue;
    return { pose, origin: random.pick(room.things.filter((thing) => !seen.includes(thing))) };
  }
  return null;
};

const onMap = ({ origin, pose }: Place): string => `(${pose.x - origin.x}, ${pose.y - origin.y})`;
const map = ({ origin }: Place): string =>
  `Take the ${origin.name} as the origin (0, 0) of a map, x growing to the east and y to the north, your first facing being north.`;

export const localisation: Maker = (room, random) => {
  const from = place(room, random);
  if (from === null) return null;
  const facing = facingNames[from.pose.facing];
  return withChoices(
    `${map(from)} You go to ${onMap(from)} and face ${facing}. What do you see?`,
    `from ${onMap(from)} of ${from.origin.name} facing ${facing}`,
    viewText(room, from.pose),
    otherViews(room, from.pose, random, from.origin.name),
    random,
  );
};

export const backwardLocalisation: Maker = (room, random) => {
  const from = place(room, random);
  if (from === null) return null;
  const view = viewText(room, from.pose);
  const text = (pose: Pose): string => `${onMap({ ...from, pose })} facing ${facingNames[pose.facing]}`;
  const wrong = poses(room, random)
    .filter((pose) => viewText(room, pose) !== view)
    .slice(0, 8);
  return withChoices(
    `You are put to another place and another facing. ${observationText(room, from.pose)}\n${map(from)} What are your coordinates and your facing?`,
    `where from ${from.origin.name} see ${view}`,
    text(from.pose),
    wrong.map(text),
    random,
  );
};
