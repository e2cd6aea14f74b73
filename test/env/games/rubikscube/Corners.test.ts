/** Distances and solutions of the cube against plain search over stickers, and known counts. */
import { describe, expect, it } from "vitest";
import { distance, shortestSolution } from "../../../../src/env/games/rubikscube/Corners.ts";
import {
  apply,
  isSolved,
  rotations,
  solved,
  type Turn,
  trueTurns,
  turns,
} from "../../../../src/env/games/rubikscube/Cube.ts";
import { searchSolution } from "../../../../src/env/games/rubikscube/Search.ts";
import { instanceOf } from "../../contract/players.ts";

const turned = (sequence: readonly Turn[], cube = solved): string =>
  sequence.reduce((before, turn) => apply(before, trueTurns[turn]), cube);

const walk = (seed: number, length: number): string => {
  const random = instanceOf(seed);
  return turned(Array.from({ length }, () => random.pick(turns)));
};

describe("the distance", () => {
  it("has the known number of cubes at each of the first steps: 1, 6, 27, 120, 534, 2256", () => {
    const counts: number[] = [];
    const seen = new Set([solved]);
    let frontier = [solved];
    for (let depth = 0; depth <= 5; depth++) {
      counts.push(frontier.length);
      expect(frontier.every((cube) => distance(cube) === depth)).toBe(true);
      const next: string[] = [];
      for (const cube of frontier) {
        for (const turn of ["U", "U'", "R", "R'", "F", "F'"] as const) {
          const neighbour = turned([turn], cube);
          if (!seen.has(neighbour)) next.push(neighbour);
          seen.add(neighbour);
        }
      }
      frontier = next;
    }
    expect(counts).toEqual([1, 6, 27, 120, 534, 2256]);
  });

  it("does not depend on how the cube is held", () => {
    const cube = walk(1, 30);
    for (const rotation of rotations) expect(distance(apply(cube, rotation))).toBe(distance(cube));
  });

  it("changes by one with every turn", () => {
    for (let seed = 0; seed < 10; seed++) {
      const cube = walk(seed, 30);
      for (const turn of turns) expect(Math.abs(distance(turned([turn], cube))! - distance(cube)!)).toBe(1);
    }
  });

  it.each(["RYGOWOWBYBYWYRGWGBOGRORB", "BWRRYGOGYWOYGROBBROWWGBY"])("is 14, the most there is, for %s", (cube) => {
    expect(distance(cube)).toBe(14);
    for (const turn of turns) expect(distance(turned([turn], cube))).toBe(13);
  });

  it("is null for stickers that are no cube", () => {
    const [u, ...others] = solved;
    expect(distance([others[3], ...others.slice(0, 3), u, ...others.slice(4)].join(""))).toBeNull();
    // One corner twisted in its place.
    const twisted = [...solved];
    [twisted[3], twisted[12], twisted[9]] = [solved[12]!, solved[9]!, solved[3]!];
    expect(distance(twisted.join(""))).toBeNull();
    // Two corners exchanged sticker by sticker would be a cube again; two stickers exchanged are not.
    const torn = [...solved];
    [torn[3], torn[12]] = [solved[12]!, solved[3]!];
    expect(distance(torn.join(""))).toBeNull();
  });
});

describe("the shortest solution", () => {
  it("solves any cube in as many turns as its distance", () => {
    for (let seed = 0; seed < 200; seed++) {
      const cube = walk(seed, 40);
      const plan = shortestSolution(cube)!;
      expect(plan.length).toBe(distance(cube));
      expect(isSolved(turned(plan, cube))).toBe(true);
    }
  });

  it("is as short as plain search finds", () => {
    for (let seed = 0; seed < 30; seed++) {
      const cube = walk(seed, 1 + (seed % 4));
      expect(shortestSolution(cube)!.length).toBe(searchSolution(trueTurns, cube, 4)!.length);
    }
  });

  it("is empty for a solved cube, however it is held", () => {
    for (const rotation of rotations) expect(shortestSolution(apply(solved, rotation))).toEqual([]);
  });
});

describe("plain search", () => {
  it("gives up beyond its bound", () => {
    const cube = turned(["R", "U", "F"]);
    expect(searchSolution(trueTurns, cube, 2)).toBeNull();
    expect(isSolved(turned(searchSolution(trueTurns, cube, 3)!, cube))).toBe(true);
  });
});
