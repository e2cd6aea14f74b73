/** `dir`: which choice states the relation of two objects correctly, seen from above. */
import { cardinal, cardinals, distance, type Thing } from "../Space.ts";
import { type Maker, withChoices } from "./Question.ts";
import { nearMisses, relationText } from "./relations.ts";

const around = (name: (typeof cardinals)[number]): readonly string[] => {
  const at = cardinals.indexOf(name);
  return [cardinals[(at + 1) % 8]!, cardinals[(at + 7) % 8]!];
};

export const direction: Maker = ({ things }, random) => {
  const pairs = things.flatMap((one) => things.filter((other) => other !== one).map((other) => [one, other] as const));
  const choice = (one: Thing, relation: string, other: Thing): string => `${one.name} is ${relation} of ${other.name}`;
  const [asked] = random.shuffle(pairs);
  if (asked === undefined) return null;
  const [one, other] = asked;
  const right = choice(one, relationText(cardinal(other, one), distance(other, one)), other);
  const wrong = random.shuffle(pairs).map(([subject, anchor]) => {
    const towards = cardinal(anchor, subject);
    const near = nearMisses(towards, around(towards), distance(anchor, subject), random);
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
