/**
 * `rot`: in which order objects come straight ahead while one turns on the spot. `rot_dual`: the order is given, and the question is which
 * way one turned. Only objects whose directions from the start are far enough apart are named, so that a careful look settles the order.
 */
import type { Random } from "../../../../domain/Random.ts";
import type { Room } from "../Room.ts";
import { bearing, type Thing } from "../Space.ts";
import { type Maker, withChoices } from "./Question.ts";

/** Degrees between the directions of any two objects that are named. */
const apart = 30;
const fewest = 3;
const most = 7;

const ways = ["clockwise", "counterclockwise"] as const;

/** The angle between two bearings. */
const between = (one: number, other: number): number => {
  const difference = Math.abs(one - other);
  return Math.min(difference, 360 - difference);
};

/** Names in the order in which they come ahead, turning from north; null where too few objects are far enough apart. */
const order = ({ start, things }: Room, way: (typeof ways)[number], random: Random): readonly string[] | null => {
  const chosen: Thing[] = [];
  for (const thing of random.shuffle(things)) {
    const angle = bearing(start, thing);
    if (chosen.length < most && chosen.every((other) => between(bearing(start, other), angle) >= apart))
      chosen.push(thing);
  }
  if (chosen.length < fewest) return null;
  const turning = (thing: Thing): number => {
    const angle = bearing(start, thing);
    return way === "clockwise" ? angle : (360 - angle) % 360;
  };
  return chosen.sort((one, other) => turning(one) - turning(other)).map(({ name }) => name);
};

export const rotation: Maker = (room, random) => {
  const way = random.pick(ways);
  const right = order(room, way, random);
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

export const backwardRotation: Maker = (room, random) => {
  const way = random.pick(ways);
  const seen = order(room, way, random);
  if (seen === null) return null;
  return withChoices(
    `You are back at your start and face north. You turn on the spot, once around, and these objects come straight ahead of you in this order: ${seen.join(", ")}. Which way do you turn?`,
    `which way gives ${seen.join(", ")}`,
    way,
    ways,
    random,
  );
};
