/** Makes `dir`: one choice states the relation of two objects correctly, seen from above. */
import { cardinal, cardinals, distance, type RoomObject } from "../Space.ts";
import { type QuestionMaker, withChoices } from "./Question.ts";
import { nearMisses, relationText } from "./relations.ts";

const adjacentCardinals = (name: (typeof cardinals)[number]): readonly string[] => {
  const at = cardinals.indexOf(name);
  return [cardinals[(at + 1) % 8]!, cardinals[(at + 7) % 8]!];
};

export const direction: QuestionMaker = ({ things }, random) => {
  const pairs = things.flatMap((one) => things.filter((other) => other !== one).map((other) => [one, other] as const));
  const choice = (one: RoomObject, relation: string, other: RoomObject): string =>
    `${one.name} is ${relation} of ${other.name}`;
  const [pair] = random.shuffle(pairs);
  if (pair === undefined) return null;
  const [one, other] = pair;
  const right = choice(one, relationText(cardinal(other, one), distance(other, one)), other);
  const wrong = random.shuffle(pairs).map(([subject, anchor]) => {
    const towards = cardinal(anchor, subject);
    const near = nearMisses(towards, adjacentCardinals(towards), distance(anchor, subject), random);
    return choice(subject, random.pick(near), anchor);
  });
  return withChoices(
    "Your first facing is north. Seen from above, which statement is right?",
    "which is right",
    right,
    wrong,
    random,
  );
};
