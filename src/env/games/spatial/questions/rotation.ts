/**
 * Makes `rot` and `rot_dual`. The first asks for the order in which objects come straight ahead while one turns on the spot. The second gives the
 * order and asks for the way of turning. Named objects have directions far enough apart that a careful look decides the order.
 */
import type { Random } from "../../../../domain/Random.ts";
import type { SpatialRoom } from "../Room.ts";
import { bearing, type RoomObject } from "../Space.ts";
import { type QuestionMaker, withChoices } from "./Question.ts";

/** The least degrees between the directions of any two named objects. */
const minDegreesApart = 30;
const minObjects = 3;
const maxObjects = 7;

const ways = ["clockwise", "counterclockwise"] as const;

/** The angle between two bearings. */
const angleBetween = (one: number, other: number): number => {
  const difference = Math.abs(one - other);
  return Math.min(difference, 360 - difference);
};

/** The names in the order in which they come ahead, turning from north; null if too few objects are far enough apart. */
const drawOrder = (
  { start, things }: SpatialRoom,
  way: (typeof ways)[number],
  random: Random,
): readonly string[] | null => {
  const chosen: RoomObject[] = [];
  for (const thing of random.shuffle(things)) {
    const angle = bearing(start, thing);
    if (
      chosen.length < maxObjects &&
      chosen.every((other) => angleBetween(bearing(start, other), angle) >= minDegreesApart)
    )
      chosen.push(thing);
  }
  if (chosen.length < minObjects) return null;
  const turning = (thing: RoomObject): number => {
    const angle = bearing(start, thing);
    return way === "clockwise" ? angle : (360 - angle) % 360;
  };
  return chosen.sort((one, other) => turning(one) - turning(other)).map(({ name }) => name);
};

export const rotation: QuestionMaker = (room, random) => {
  const way = random.pick(ways);
  const right = drawOrder(room, way, random);
  if (right === null) return null;
  const wrong = Array.from({ length: 12 }, () => random.shuffle(right).join(", "));
  return withChoices(
    `You are back at your start and face north. You turn ${way} on the spot, once around. In which order do these objects come straight ahead of you?`,
    `order turning ${way}`,
    right.join(", "),
    wrong,
    random,
  );
};

export const backwardRotation: QuestionMaker = (room, random) => {
  const way = random.pick(ways);
  const order = drawOrder(room, way, random);
  if (order === null) return null;
  return withChoices(
    `You are back at your start and face north. You turn on the spot, once around, and these objects come straight ahead of you in this order: ${order.join(", ")}. Which way do you turn?`,
    `which way gives ${order.join(", ")}`,
    way,
    ways,
    random,
  );
};
