/**
 * `fwd_fov`: what is seen after a sequence of actions from the start. `bwd_nav`: the view is given, and the question is which sequence leads
 * to it; every wrong one ends with another view. All sequences are legal: each jump goes to an object in view.
 */
import type { Random } from "../../../../domain/Random.ts";
import { type Movement, movementText } from "../actions.ts";
import { observationText, visible } from "../observation.ts";
import type { Room } from "../Room.ts";
import { type Facing, facings, facingTo, type Pose, sameCell, turned } from "../Space.ts";
import { type Maker, withChoices } from "./Question.ts";
import { otherViews, viewText } from "./views.ts";

/** Objects that a sequence visits. */
const jumps = 2;

interface Walk {
  readonly movements: readonly Movement[];
  readonly end: Pose;
}

/** The turn from one facing to another, of at most 180 degrees; none where they are the same. */
const turn = (from: Facing, to: Facing): readonly Movement[] => {
  const quarters = turned(to, -from);
  return quarters === 0 ? [] : [{ _tag: "Rotate", degrees: quarters === 3 ? -90 : 90 * quarters }];
};

/** To a few objects, one after the other, and to a facing with something in view; null where nothing is in view from the last. */
const walk = (room: Room, random: Random): Walk | null => {
  const movements: Movement[] = [];
  let pose: Pose = room.start;
  for (let jump = 0; jump < jumps; jump++) {
    const here = pose;
    const target = random.pick(room.things.filter((thing) => !sameCell(thing, here)));
    const facing = facingTo(pose, target);
    movements.push(...turn(pose.facing, facing), { _tag: "JumpTo", name: target.name });
    pose = { x: target.x, y: target.y, facing };
  }
  const { x, y } = pose;
  const worthwhile = facings.filter((facing) => visible(room, { x, y, facing }).length > 0);
  if (worthwhile.length === 0) return null;
  const facing = random.pick(worthwhile);
  return { movements: [...movements, ...turn(pose.facing, facing)], end: { x, y, facing } };
};

const walkText = ({ movements }: Walk): string => movements.map(movementText).join(", ");

export const navigation: Maker = (room, random) => {
  const taken = walk(room, random);
  if (taken === null) return null;
  return withChoices(
    `You are back at your start and face north. You do ${walkText(taken)}. What do you see then?`,
    `after ${walkText(taken)}`,
    viewText(room, taken.end),
    otherViews(room, taken.end, random),
    random,
  );
};

export const backwardNavigation: Maker = (room, random) => {
  const taken = walk(room, random);
  if (taken === null) return null;
  const view = viewText(room, taken.end);
  const wrong = Array.from({ length: 12 }, () => walk(room, random))
    .filter((other) => other !== null)
    .filter((other) => viewText(room, other.end) !== view);
  return withChoices(
    `You are back at your start and face north. You do some actions, and then: ${observationText(room, taken.end)}\nWhich actions lead to this view?`,
    `which leads to ${view}`,
    walkText(taken),
    wrong.map(walkText),
    random,
  );
};
