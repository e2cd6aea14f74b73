/** Every question has exactly one right choice, which an oracle finds by reading the texts. */
import { describe, expect, it } from "vitest";
import { drawRoomAndQuestion } from "../../../../src/env/games/spatial/questions/draw.ts";
import type { RoomQuestion } from "../../../../src/env/games/spatial/questions/Question.ts";
import type { SpatialRoom } from "../../../../src/env/games/spatial/Room.ts";
import type { Pose } from "../../../../src/env/games/spatial/Space.ts";
import { type QuestionType, questionTypes, SpatialConfig } from "../../../../src/env/games/spatial/SpatialConfig.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf } from "../../contract/players.ts";
import { chiSquare } from "../statistics.ts";
import { angle, cardinalWord, distanceWord, facingOf, isSeen, place, thingOf, view, walked } from "./oracle.ts";

const configWith = configsOf(SpatialConfig);

const seeds = Array.from({ length: 40 }, (_, seed) => seed);

/** The groups of a pattern that has to match. */
const read = (pattern: RegExp, text: string): readonly string[] => {
  const found = pattern.exec(text);
  if (found === null) throw new Error(`${pattern} does not match "${text}"`);
  return found.slice(1);
};

const lines = (text: string): readonly string[] => [...text.matchAll(/^- (.*: .*)$/gm)].map(([, line]) => line!);
const parts = (choice: string): readonly string[] => choice.split("; ");
const same = (one: readonly string[], other: readonly string[]): boolean => one.join("|") === other.join("|");

/** Names in the order in which they come ahead. */
const inOrder = ({ start, things }: SpatialRoom, names: readonly string[], way: string): readonly string[] => {
  const turning = (name: string): number => {
    const degrees = angle(start, things.find((thing) => thing.name === name)!);
    return (((way === "clockwise" ? degrees : -degrees) % 360) + 360) % 360;
  };
  return [...names].sort((one, other) => turning(one) - turning(other));
};

const onMap = (room: SpatialRoom, text: string): Pose => {
  const [name, x, y, facing] = read(/^(.*?)\|\((-?\d+), (-?\d+)\)\|(\w+)$/, text);
  const origin = thingOf(room, name!);
  return { x: origin.x + Number(x), y: origin.y + Number(y), facing: facingOf(facing!) };
};

/** True if a choice is right. */
const truths: Readonly<Record<QuestionType, (room: SpatialRoom, question: RoomQuestion, choice: string) => boolean>> = {
  dir: (room, _, choice) => {
    const [one, direction, distance, other] = read(/^(\w+) is ([\w-]+), ([\w ]+) of (\w+)$/, choice);
    const [from, to] = [thingOf(room, other!), thingOf(room, one!)];
    return cardinalWord(from, to) === direction && distanceWord(from, to) === distance;
  },
  rot: (room, { text }, choice) => {
    const [way] = read(/You turn (\w+) on the spot/, text);
    const names = choice.split(", ");
    return same(names, inOrder(room, names, way!));
  },
  rot_dual: (room, { text }, choice) => {
    const [listed] = read(/in this order: (.*?)\. Which/, text);
    const names = listed!.split(", ");
    return same(names, inOrder(room, names, choice));
  },
  pov: (room, { text }, choice) => {
    const [viewer, seen] = read(/where the (\w+) is and face where it faces\. Where is the (\w+) from there/, text);
    return place(thingOf(room, viewer!), thingOf(room, seen!)) === choice;
  },
  bwd_pov: (room, { text }, choice) => {
    const [seen, where] = read(/From there the (\w+) is ([^.]*)\./, text);
    const [from, to] = [thingOf(room, choice), thingOf(room, seen!)];
    return isSeen(from, to, room.view) && place(from, to) === where;
  },
  e2a: (room, _, choice) => {
    const entries = [...choice.matchAll(/(\w+): \(\((-?\d+), (-?\d+)\), (\w+)\)/g)];
    expect(entries.length).toBe(3);
    return entries.every(([, name, x, y, facing]) => {
      const thing = thingOf(room, name!);
      const at = thing.x === room.start.x + Number(x) && thing.y === room.start.y + Number(y);
      return at && thing.facing === facingOf(facing!);
    });
  },
  fwd_loc: (room, { text }, choice) => {
    const [origin, cell, facing] = read(/Take the (\w+) as .* You go to (\(.*?\)) and face (\w+)\./, text);
    const seen = view(room, onMap(room, `${origin}|${cell}|${facing}`));
    return parts(choice).every((part) => seen.includes(part));
  },
  bwd_loc: (room, { text }, choice) => {
    const [origin] = read(/Take the (\w+) as/, text);
    const [cell, facing] = read(/^(\(.*\)) facing (\w+)$/, choice);
    return same(view(room, onMap(room, `${origin}|${cell}|${facing}`)), lines(text));
  },
  fwd_fov: (room, { text }, choice) => {
    const [actions] = read(/You do (.*)\. What/, text);
    const seen = view(room, walked(room, room.start, actions!));
    return parts(choice).every((part) => seen.includes(part));
  },
  bwd_nav: (room, { text }, choice) => same(view(room, walked(room, room.start, choice)), lines(text)),
};

describe.each([
  { n_objects: 3, field_of_view: 90 },
  { n_objects: 6, field_of_view: 90 },
  { n_objects: 4, field_of_view: 180, room_size: [6, 14] },
])("in a room of %j", (keys) => {
  it.each(questionTypes)("%s has one right choice", (type) => {
    const config = configWith({ ...keys, eval_tasks: [type] });
    for (const seed of seeds) {
      const { question, room } = drawRoomAndQuestion(config, instanceOf(seed));
      const right = question.choices.flatMap((choice, at) => (truths[type](room, question, choice) ? [at] : []));
      expect(right).toEqual([question.answer]);
      expect(new Set(question.choices).size).toBe(question.choices.length);
    }
  });
});

describe("the choices", () => {
  it.each(questionTypes)("of %s are four where the question allows it", (type) => {
    const config = configWith({ eval_tasks: [type] });
    const counts = seeds.map((seed) => drawRoomAndQuestion(config, instanceOf(seed)).question.choices.length);
    const most = type === "rot_dual" || type === "bwd_pov" ? 2 : 4;
    expect(Math.max(...counts)).toBe(most);
    expect(counts.filter((count) => count < most).length).toBeLessThan(seeds.length / 8);
  });

  it("do not betray the right one by its letter", () => {
    const config = configWith({ eval_tasks: ["dir", "pov", "e2a", "bwd_loc"] });
    const answers = Array.from(
      { length: 800 },
      (_, seed) => drawRoomAndQuestion(config, instanceOf(seed)).question.answer,
    );
    const counts = [0, 1, 2, 3].map((letter) => answers.filter((answer) => answer === letter).length);
    // 17.7 is the 99.95th percentile at 3 degrees of freedom; the second sample stands for the expectation.
    expect(chiSquare(counts, [1e6, 1e6, 1e6, 1e6])).toBeLessThan(17.7);
  });

  it.each(["pov", "e2a"] as const)("of %s do not betray it by what most of them say", (type) => {
    const pattern = type === "pov" ? /[^,]+/g : /\w+: \(\(.*?\), \w+\)/g;
    for (const seed of seeds) {
      const { choices } = drawRoomAndQuestion(configWith({ eval_tasks: [type] }), instanceOf(seed)).question;
      const said = choices.flatMap((choice) => choice.match(pattern)!.map((part) => part.trim()));
      expect(new Set(said).size).toBe(said.length / 2);
      for (const part of said) expect(said.filter((other) => other === part).length).toBe(2);
    }
  });

  it("of rot name objects at least 30 degrees apart", () => {
    for (const seed of seeds) {
      const { question, room } = drawRoomAndQuestion(
        configWith({ eval_tasks: ["rot"], n_objects: 8 }),
        instanceOf(seed),
      );
      const degrees = question.choices[0]!.split(", ").map((name) => angle(room.start, thingOf(room, name)));
      for (const [at, one] of degrees.entries()) {
        for (const other of degrees.slice(at + 1)) {
          const between = Math.abs(one - other);
          expect(Math.min(between, 360 - between)).toBeGreaterThan(30 - 1e-9);
        }
      }
    }
  });

  it("of fwd_loc never name the origin", () => {
    for (const seed of seeds) {
      const { choices, text } = drawRoomAndQuestion(configWith({ eval_tasks: ["fwd_loc"] }), instanceOf(seed)).question;
      const [origin] = read(/Take the (\w+) as/, text);
      expect(choices.join()).not.toContain(origin);
    }
  });
});

describe("the types", () => {
  it("are drawn evenly from those configured", () => {
    const config = configWith();
    const drawn = Array.from(
      { length: 1000 },
      (_, seed) => drawRoomAndQuestion(config, instanceOf(seed)).question.type,
    );
    const counts = questionTypes.map((type) => drawn.filter((other) => other === type).length);
    // 29.7 is the 99.95th percentile at 9 degrees of freedom.
    expect(
      chiSquare(
        counts,
        questionTypes.map(() => 1e6),
      ),
    ).toBeLessThan(29.7);
  });
});
