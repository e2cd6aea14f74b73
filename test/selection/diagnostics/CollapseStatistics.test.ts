import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ScoreMatrix, statisticsOf } from "../../../src/selection/diagnostics/CollapseStatistics.ts";
import golden from "../../fixtures/collapse/golden.json" with { type: "json" };
import { assertProperty } from "../../property.ts";

const EPS = 1e-3;

/** Thoughts of one token, so that sums are means. */
const scored = (rows: readonly (readonly number[])[], over: Partial<ScoreMatrix> = {}): ScoreMatrix => ({
  sums: rows.map((row) => Float64Array.from(row)),
  lengths: rows.map(() => 1),
  ownColumns: rows.map((_, i) => i),
  prompts: rows[0]!.map((_, i) => i),
  ...over,
});

/** Log-probabilities of thoughts behind distinct prompts, and which prompt is whose. */
const matrices = fc
  .record({ rows: fc.integer({ min: 1, max: 8 }), columns: fc.integer({ min: 1, max: 8 }) })
  .chain(({ columns, rows }) =>
    fc.record({
      sums: fc.array(
        fc.array(fc.double({ min: -40, max: -0.01, noNaN: true }), { minLength: columns, maxLength: columns }),
        { minLength: rows, maxLength: rows },
      ),
      lengths: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: rows, maxLength: rows }),
      ownColumns: fc.array(fc.integer({ min: 0, max: columns - 1 }), { minLength: rows, maxLength: rows }),
    }),
  )
  .map(({ lengths, ownColumns, sums }) => scored(sums, { lengths, ownColumns }));

describe("the statistics of a collapse measurement", () => {
  it("are those of the reference vector", () => {
    const { bound, retrieval, token } = statisticsOf(
      scored([
        [-1, -2],
        [-2, -1],
      ]),
      EPS,
    );
    expect(token.matched).toBe(-1);
    expect(token.marginal).toBeCloseTo(-1.3799, 4);
    expect(token.information).toBeCloseTo(0.3799, 4);
    expect(bound).toBeCloseTo(Math.LN2, 12);
    expect(retrieval[0]).toEqual({ k: 1, accuracy: 1, chance: 0.5 });
    expect(token.zscore).toBeCloseTo(379.9, 1);
  });

  it.each(golden.map((one, at) => ({ at, ...one })))(
    "are numpy's, case $at",
    ({ expected, eps, own, sums, ...matrix }) => {
      const statistics = statisticsOf(
        { ...matrix, ownColumns: own, sums: sums.map((row) => Float64Array.from(row)) },
        eps,
      );
      for (const unit of ["token", "sequence"] as const) {
        for (const key of ["information", "matched", "marginal", "marginalStd", "zscore"] as const) {
          expect(statistics[unit][key]).toBeCloseTo(expected[unit][key], 9);
        }
      }
      expect(statistics.bound).toBeCloseTo(expected.bound, 12);
      expect(statistics.retrieval.map(({ accuracy, chance, k }) => [k, accuracy, chance])).toEqual(
        expected.retrieval.map(({ accuracy, chance, k }) => [
          k,
          expect.closeTo(accuracy, 12),
          expect.closeTo(chance, 12),
        ]),
      );
    },
  );

  it("keep the information within its bound, and the two entropies apart by it", () => {
    assertProperty(
      fc.property(matrices, (given) => {
        const { bound, sequence, token } = statisticsOf(given, EPS);
        for (const { information, marginal, matched } of [sequence, token]) {
          expect(information).toBeLessThanOrEqual(bound + 1e-9);
          expect(matched - marginal).toBeCloseTo(information, 9);
        }
      }),
    );
  });

  it("do not depend on the order of the columns", () => {
    assertProperty(
      fc.property(matrices, ({ lengths, ownColumns, prompts, sums }) => {
        const last = prompts.length - 1;
        const turned = {
          lengths,
          prompts,
          ownColumns: ownColumns.map((column) => last - column),
          sums: sums.map((row) => row.toReversed()),
        };
        const [inOrder, other] = [statisticsOf({ lengths, ownColumns, prompts, sums }, EPS), statisticsOf(turned, EPS)];
        expect(other.token.information).toBeCloseTo(inOrder.token.information, 9);
        expect(other.retrieval.map(({ accuracy }) => accuracy)).toEqual(
          inOrder.retrieval.map(({ accuracy }) => accuracy),
        );
      }),
    );
  });

  it("find no information, and retrieve at chance, where every prompt says the same", () => {
    const same = scored(
      Array.from({ length: 6 }, () => Array.from({ length: 6 }, () => -3)),
      { prompts: [0, 0, 1, 2, 3, 4] },
    );
    const { retrieval, sequence } = statisticsOf(same, EPS);
    expect(sequence.information).toBeCloseTo(0, 12);
    expect(retrieval[0]!.accuracy).toBeCloseTo(retrieval[0]!.chance, 12);
    expect(retrieval.at(-1)).toEqual({ k: 8, accuracy: 1, chance: 1 });
  });

  it("count identical prompts as one in retrieval", () => {
    // The first thought is likelier behind columns 1 and 2, which are its own prompt again.
    const { retrieval } = statisticsOf(scored([[-3, -3, -3, -4]], { ownColumns: [0], prompts: [7, 7, 7, 8] }), EPS);
    expect(retrieval[0]).toEqual({ k: 1, accuracy: 1, chance: 0.75 });
  });
});
