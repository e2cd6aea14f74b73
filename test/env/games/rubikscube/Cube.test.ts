/** The laws of the cube's group, on the stickers. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  apply,
  compose,
  cornerPlaces,
  faceOf,
  faces,
  isSolved,
  type Permutation,
  rotations,
  solved,
  type Turn,
  type TurnTable,
  turns,
  turnTables,
} from "../../../../src/env/games/rubikscube/Cube.ts";
import { assertProperty } from "../../../property.ts";

const turned = (sequence: readonly Turn[], cube = solved, table: TurnTable = "true"): string =>
  sequence.reduce((before, turn) => apply(before, turnTables[table][turn]), cube);

const identity: Permutation = rotations[0]!;

/** The number of repetitions of a sequence until every sticker is back. */
const order = (sequence: readonly Turn[], table: TurnTable = "true"): number => {
  const once = sequence.map((turn) => turnTables[table][turn] as Permutation).reduce(compose);
  let count = 1;
  for (let at = once; at.some((from, to) => from !== to); at = compose(at, once)) count++;
  return count;
};

/** The letters of every corner, sorted: what no turn of a cube changes. */
const corners = (cube: string): string[] =>
  cornerPlaces
    .map((place) =>
      place
        .map((at) => cube[at])
        .sort()
        .join(""),
    )
    .sort();

const someTurns = fc.array(fc.constantFrom(...turns), { maxLength: 30 });
const prime = (turn: Turn): Turn => (turn.length === 1 ? (`${turn}'` as Turn) : (turn[0] as Turn));

describe.each(["true", "ragen"] as const)("the turns of the table %s", (table) => {
  it("are undone by their primes", () => {
    assertProperty(
      fc.property(someTurns, fc.constantFrom(...turns), (sequence, turn) => {
        const cube = turned(sequence, solved, table);
        expect(turned([turn, prime(turn)], cube, table)).toBe(cube);
      }),
    );
  });

  it.each(turns)("%s has order four", (turn) => {
    expect(order([turn], table)).toBe(4);
  });

  it.each(turns)("%s moves twelve of the 24 stickers", (turn) => {
    const moved = turnTables[table][turn].filter((from, to) => from !== to);
    expect(moved.length).toBe(12);
  });

  it("keep four stickers of each colour", () => {
    assertProperty(
      fc.property(someTurns, (sequence) => {
        expect([...turned(sequence, solved, table)].sort().join("")).toBe([...solved].sort().join(""));
      }),
    );
  });
});

describe("a turn of a solved cube", () => {
  it.each([
    ["U", "WWWW GGOO RRGG BBRR OOBB YYYY"],
    ["D", "WWWW OOBB GGOO RRGG BBRR YYYY"],
    ["L", "BWBW OOOO WGWG RRRR BYBY GYGY"],
    ["R", "WGWG OOOO GYGY RRRR WBWB YBYB"],
    ["F", "WWOO OYOY GGGG WRWR BBBB RRYY"],
    ["B", "RRWW WOWO GGGG RYRY BBBB YYOO"],
  ] as const)("%s shows the faces %s", (turn, shown) => {
    const cube = turned([turn]);
    expect(faces.map((face) => faceOf(cube, face)).join(" ")).toBe(shown);
  });
});

describe("the group", () => {
  it.each<[string, Turn[], number]>([
    ["R U R' U'", ["R", "U", "R'", "U'"], 6],
    ["R U", ["R", "U"], 15],
    ["R U'", ["R", "U'"], 9],
    ["R U R' U", ["R", "U", "R'", "U"], 5],
    ["F B", ["F", "B"], 4],
  ])("gives %s its known order", (_, sequence, expected) => {
    expect(order(sequence)).toBe(expected);
  });

  it.each<[Turn, Turn]>([
    ["U", "D"],
    ["L", "R"],
    ["F", "B"],
  ])("lets %s and %s commute", (one, other) => {
    const { [one]: first, [other]: second } = turnTables.true;
    expect(compose(first, second)).toEqual(compose(second, first));
  });

  it("keeps corner pieces whole", () => {
    assertProperty(
      fc.property(someTurns, (sequence) => {
        expect(corners(turned(sequence))).toEqual(corners(solved));
      }),
    );
  });

  it("counts opposite faces turned against each other as a turn of the whole cube", () => {
    for (const pair of [
      ["U", "D'"],
      ["L", "R'"],
      ["F", "B'"],
    ] as const) {
      const whole = compose(turnTables.true[pair[0]], turnTables.true[pair[1]]);
      expect(rotations).toContainEqual(whole);
      expect(isSolved(turned(pair))).toBe(true);
    }
  });

  it("has 24 ways to hold the cube, all different and all of a solved cube solved", () => {
    expect(new Set(rotations.map((rotation) => rotation.join())).size).toBe(24);
    expect(rotations.every((rotation) => isSolved(apply(solved, rotation)))).toBe(true);
    expect(apply(solved, identity)).toBe(solved);
  });

  it("calls nothing solved that shows two colours on a face", () => {
    for (const turn of turns) expect(isSolved(turned([turn]))).toBe(false);
  });
});

describe("RAGEN's B", () => {
  it("differs from the true turn only in the stickers it moves across D", () => {
    const differing = turnTables.true.B.flatMap((from, to) => (from === turnTables.ragen.B[to] ? [] : [to]));
    expect(differing).toEqual([13, 15, 22, 23]);
  });

  it("looks the same on a solved cube but tears corners apart, so that B D comes back after 65 turns instead of 15", () => {
    expect(turned(["B"], solved, "ragen")).toBe(turned(["B"]));
    expect(corners(turned(["D", "B"], solved, "ragen"))).not.toEqual(corners(solved));
    expect([order(["B", "D"]), order(["B", "D"], "ragen")]).toEqual([15, 65]);
  });
});
