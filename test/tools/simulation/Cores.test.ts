import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Agenda } from "../../../src/tools/simulation/Agenda.ts";
import { Cores, type Slowdown, type ThreadKind } from "../../../src/tools/simulation/Cores.ts";
import { assertProperty } from "../../property.ts";

const ends = (cores: number, pieces: readonly { readonly at: number; readonly work: number }[]): readonly number[] => {
  const agenda = new Agenda();
  const shared = new Cores(agenda, cores);
  const ended: number[] = [];
  for (const [i, { at, work }] of pieces.entries()) {
    agenda.after(at, () =>
      shared.run("step", work, () => {
        ended[i] = agenda.now;
      }),
    );
  }
  agenda.run();
  return ended;
};

it("gives each piece a core while there are enough, and equal shares where there are not", () => {
  const three = Array.from({ length: 3 }, () => ({ at: 0, work: 10 }));
  expect(ends(3, three)).toEqual([10, 10, 10]);
  expect(ends(2, three)).toEqual([15, 15, 15]);
});

it("lets no piece be faster than alone, and does no more work than the cores can", () => {
  const piece = fc.record({ at: fc.integer({ min: 0, max: 50 }), work: fc.integer({ min: 1, max: 30 }) });
  assertProperty(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(piece, { minLength: 1, maxLength: 12 }), (cores, pieces) => {
      const ended = ends(cores, pieces);
      for (const [i, { at, work }] of pieces.entries()) expect(ended[i]! - at).toBeGreaterThan(work - 1e-6);
      const last = Math.max(...ended);
      const first = Math.min(...pieces.map(({ at }) => at));
      const work = pieces.reduce((sum, piece) => sum + piece.work, 0);
      expect((last - first) * cores).toBeGreaterThan(work - 1e-6);
    }),
    { numRuns: 60 },
  );
});

const none: Slowdown = { generatorByGenerator: 0, generatorByLane: 0, laneByGenerator: 0 };

/** When each piece of work, begun at 0, ends. */
const endsBeside = (
  cores: number,
  slowdown: Slowdown,
  work: readonly (readonly [ThreadKind, number])[],
): readonly number[] => {
  const agenda = new Agenda();
  const shared = new Cores(agenda, cores, slowdown);
  const at: number[] = [];
  for (const [i, [kind, time]] of work.entries()) {
    shared.run(kind, time, () => {
      at[i] = agenda.now;
    });
  }
  agenda.run();
  return at;
};

describe("threads that share cores", () => {
  it("take their own time where there is a core for each", () => {
    expect(
      endsBeside(2, none, [
        ["generator", 5],
        ["lane", 9],
      ]),
    ).toEqual([5, 9]);
  });

  it("share the cores evenly where there are more of them", () => {
    // Three on two cores go at two thirds until the first ends.
    const [short, long, longer] = endsBeside(2, none, [
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
    const [generator, lane] = endsBeside(4, slowdown, [
      ["generator", 10],
      ["lane", 20],
    ]);
    expect(generator).toBeCloseTo(15);
    // 12 of its 20 are done by then; the rest is alone.
    expect(lane).toBeCloseTo(15 + 8);
  });
});
