/**
 * Makes `fwd_fov`, which gives a sequence of actions from the start and asks for the view, and `bwd_nav`, which gives the view and asks for the
 * sequence. Invariants: every wrong choice has another view, and each jump goes to an object in view.
 */
import type { Random } from "../../../../domain/Random.ts";
import { movementText, type RoomMovement } from "../actions.ts";
import { observationText, visibleObjects } from "../observation.ts";
import type { SpatialRoom } from "../Room.ts";
import { type Facing, facings, facingTo, isSameCell, type Pose, rotateFacing } from "../Space.ts";
import { type QuestionMaker, withChoices } from "./Question.ts";
import { otherViews, viewText } from "./views.ts";

/** The number of objects that a route visits. */
const jumps = 2;

interface Route {
  readonly movements: readonly RoomMovement[];
  readonly end: Pose;
}

/** The turn from one facing to another, of at most 180 degrees; an empty list if they are the same. */
const turnMovements = (from: Facing, to: Facing): readonly RoomMovement[] => {
  const quarters = rotateFacing(to, -from);
  return quarters === 0 ? [] : [{ _tag: "Rotate", degrees: quarters === 3 ? -90 : 90 * quarters }];
};

/** Draws a route to a few objects and a last facing with something in view; null if the last place has nothing in view. */
const drawRoute = (room: SpatialRoom, random: Random): Route | null => {
  const movements: RoomMovement[] = [];
  let pose: Pose = room.start;
  for (let jump = 0; jump < jumps; jump++) {
    const current = pose;
    const target = random.pick(room.things.filter((thing) => !isSameCell(thing, current)));
    const facing = facingTo(pose, target);
    movements.push(...turnMovements(pose.facing, facing), { _tag: "JumpTo", name: target.name });
    pose = { x: target.x, y: target.y, facing };
  }
  const { x, y } = pose;
  const worthwhile = facings.filter((facing) => visibleObjects(room, { x, y, facing }).length > 0);
  if (worthwhile.length === 0) return null;
  const facing = random.pick(worthwhile);
  return { movements: [...movements, ...turnMovements(pose.facing, facing)], end: { x, y, facing } };
};

const routeText = ({ movements }: Route): string => movements.map(movementText).join(", ");

export const navigation: QuestionMaker = (room, random) => {
  const route = drawRoute(room, random);
  if (route === null) return null;
  return withChoices(
    `You are back at your start and face north. You do ${routeText(route)}. What do you see then?`,
    `after ${routeText(route)}`,
    viewText(room, route.end),
    otherViews(room, route.end, random),
    random,
  );
};

export const backwardNavigation: QuestionMaker = (room, random) => {
  const route = drawRoute(room, random);
  if (route === null) return null;
  const view = viewText(room, route.end);
  const wrong = Array.from({ length: 12 }, () => drawRoute(room, random))
    .filter((other) => other !== null)
    .filter((other) => viewText(room, other.end) !== view);
  return withChoices(
    `You are back at your start and face north. You do some actions, and then: ${observationText(room, route.end)}\nWhich actions lead to this view?`,
    `which leads to ${view}`,
    routeText(route),
    wrong.map(routeText),
    random,
  );
};
