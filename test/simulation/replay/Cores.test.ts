import { describe, expect, it } from "vitest";
import { Agenda } from "../../../src/simulation/Agenda.ts";
import { Cores, type ThreadKind } from "../../../src/simulation/replay/Cores.ts";
import type { Slowdown } from "../../../src/simulation/replay/Machine.ts";

const none: Slowdown = { generatorByGenerator: 0, generatorByLane: 0, laneByGenerator: 0 };

/** When each piece of work, begun at 0, ends. */
const ends = (
  cores: number,
  slowdown: Slowdown,
  work: readonly (readonly [ThreadKind, number])[],
): readonly number[] => {
  const agenda = new Agenda();
  const shared = new Cores(agenda, cores, slowdown);
  const at: number[] = [];
  for (const [i, [kind, time]] of work.entries()) {
    shared.compute(kind, time, () => {
      at[i] = agenda.now;
    });
  }
  agenda.run();
  return at;
};

describe("threads that share cores", () => {
  it("take their own time where there is a core for each", () => {
    expect(
      ends(2, none, [
        ["generator", 5],
        ["lane", 9],
      ]),
    ).toEqual([5, 9]);
  });

  it("share the cores evenly where there are more of them", () => {
    // Three on two cores go at two thirds until the first ends.
    const [short, long, longer] = ends(2, none, [
      ["generator", 4],
      ["lane", 8],
      ["lane", 8],
    ]);
    expect(short).toBeCloseTo(6);
    expect(long).toBeCloseTo(10);
    expect(longer).toBeCloseTo(10);
  });

  it("slow each other down, each kind by its own factor", () => {
    const slowdown = { ...none, generatorByLane: 0.5, laneByGenerator: 0.25 };
    const [generator, lane] = ends(4, slowdown, [
      ["generator", 10],
      ["lane", 20],
    ]);
    expect(generator).toBeCloseTo(15);
    // 12 of its 20 are done by then; the rest is alone.
    expect(lane).toBeCloseTo(15 + 8);
  });
});
