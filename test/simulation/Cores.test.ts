import fc from "fast-check";
import { expect, it } from "vitest";
import { Agenda } from "../../src/simulation/Agenda.ts";
import { Cores } from "../../src/simulation/Cores.ts";
import { assertProperty } from "../property.ts";

const ends = (cores: number, pieces: readonly { readonly at: number; readonly work: number }[]): readonly number[] => {
  const agenda = new Agenda();
  const shared = new Cores(agenda, cores);
  const ended: number[] = [];
  for (const [i, { at, work }] of pieces.entries()) {
    agenda.after(at, () =>
      shared.run(work, () => {
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
