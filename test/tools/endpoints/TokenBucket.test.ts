import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as TokenBucket from "../../../src/tools/endpoints/TokenBucket.ts";
import { assertProperty } from "../../property.ts";

/** When each amount may go, the amounts asked for at ascending times. */
const times = (perMinute: number | null, asks: readonly (readonly [gap: number, amount: number])[]) => {
  let bucket = TokenBucket.make(perMinute, 0);
  let now = 0;
  return asks.map(([gap, amount]) => {
    now += gap;
    const draw = TokenBucket.take(bucket, amount, now);
    bucket = draw.bucket;
    return { at: now + draw.waitMs, amount };
  });
};

describe("a rate", () => {
  it("spaces requests evenly", () => {
    expect(
      times(60, [
        [0, 1],
        [0, 1],
        [0, 1],
        [500, 1],
      ]).map(({ at }) => at),
    ).toEqual([0, 1_000, 2_000, 3_000]);
  });

  it("lets an amount above a second's worth go, and the next one wait for all of it", () => {
    expect(
      times(600, [
        [0, 100],
        [0, 1],
      ]).map(({ at }) => at),
    ).toEqual([0, 9_100]);
  });

  it("takes what was not used off the debt", () => {
    const { bucket } = TokenBucket.take(TokenBucket.make(600, 0), 100, 0);
    expect(TokenBucket.take(TokenBucket.giveBack(bucket, 90), 1, 0).waitMs).toBe(100);
  });

  it("is none where there is no limit", () => {
    expect(
      times(null, [
        [0, 1e9],
        [0, 1e9],
      ]).map(({ at }) => at),
    ).toEqual([0, 0]);
  });

  it("is never exceeded in any window by more than a second's worth and one amount", () => {
    const ask = fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 1, max: 50 }));
    assertProperty(
      fc.property(fc.integer({ min: 1, max: 2_000 }), fc.array(ask, { minLength: 1, maxLength: 30 }), (rate, asks) => {
        const gone = times(rate, asks);
        for (const [i, first] of gone.entries()) {
          let sum = 0;
          for (const { amount, at } of gone.slice(i)) {
            sum += amount;
            const allowed = (rate * (at - first.at + 1_000)) / 60_000 + amount;
            expect(sum).toBeLessThanOrEqual(allowed + first.amount + 1e-6);
          }
        }
      }),
    );
  });

  it("keeps turns in the order they were asked for", () => {
    const ask = fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 1, max: 50 }));
    assertProperty(
      fc.property(fc.array(ask, { minLength: 1, maxLength: 30 }), (asks) => {
        const at = times(
          100,
          asks.map(([gap]) => [gap, 1]),
        ).map((each) => each.at);
        expect(at).toEqual(at.toSorted((a, b) => a - b));
      }),
    );
  });
});
