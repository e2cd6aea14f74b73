/** The table is a set: it agrees with the language's own over any sequence of additions. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeStateTable } from "../../../../src/env/games/sokoban/StateTable.ts";
import { assertProperty } from "../../../property.ts";

describe("StateTable", () => {
  it("adds each state once, across growth and up to 2^53 - 2", () => {
    const states = fc.array(
      fc.oneof(
        fc.nat(50),
        fc.nat(),
        fc.maxSafeNat().map((n) => Math.min(n, 2 ** 53 - 2)),
      ),
      {
        maxLength: 300,
      },
    );
    assertProperty(
      fc.property(states, (sequence) => {
        const table = makeStateTable(4);
        const set = new Set<number>();
        for (const state of sequence) {
          expect(table.add(state)).toBe(!set.has(state));
          set.add(state);
        }
        expect(table.size()).toBe(set.size);
      }),
      { numRuns: 100 },
    );
  });
});
