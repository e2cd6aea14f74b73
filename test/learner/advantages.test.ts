import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { biLevelGae, gae, returnsToGo } from "../../src/learner/advantages/gae.ts";
import { batchRelative, groupRelative, leaveOneOut, softWeights } from "../../src/learner/advantages/relative.ts";
import { filterLossScale, relativeLengths, whiten } from "../../src/learner/advantages/weighting.ts";
import { assertProperty } from "../property.ts";

const close = (actual: ArrayLike<number>, expected: readonly number[], digits = 5) => {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => {
    expect(actual[i]).toBeCloseTo(value, digits);
  });
};

describe("gae", () => {
  const rewards = [0, 0, 0, 0, 0, 1];
  const values = [0.5, 0.4, 9, 9, 0.3, 0.2];
  const mask = [1, 1, 0, 0, 1, 1];

  it("skips masked tokens as RAGEN does", () => {
    const { advantages, returns } = gae(rewards, values, mask, 0.9, 0.8);
    close(advantages, [0.00279, 0.19832, 0.456, 0.456, 0.456, 0.8]);
    close(returns, [0.50279, 0.59832, 9.456, 9.456, 0.756, 1]);
  });

  it("whitens over the mask with the unbiased variance", () => {
    const whitened = whiten(gae(rewards, values, mask, 0.9, 0.8).advantages, mask);
    close(whitened, [-1.04866, -0.481436, 0, 0, 0.266083, 1.264014]);
    expect([...whitened.subarray(2, 4)]).toEqual([0, 0]);
  });

  it("gives reward-to-go minus value when gamma and lambda are 1", () => {
    assertProperty(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })), { minLength: 1 }),
        (pairs) => {
          const r = pairs.map(([reward]) => reward);
          const v = pairs.map(([, value]) => value);
          const { advantages } = gae(r, v, new Uint8Array(r.length).fill(1), 1, 1);
          for (const [t, value] of v.entries()) {
            expect(advantages[t]).toBe(r.slice(t).reduce((sum, reward) => sum + reward, 0) - value);
          }
        },
      ),
    );
  });

  it("gives the trained tokens what they would get without the masked ones", () => {
    const kept = <A>(column: Iterable<A>) => [...column].filter((_, t) => mask[t] === 1);
    const dense = gae(kept(rewards), kept(values), [1, 1, 1, 1], 0.9, 0.8);
    const sparse = gae(rewards, values, mask, 0.9, 0.8);
    close(kept(sparse.advantages), [...dense.advantages], 12);
  });
});

describe("bi-level gae", () => {
  const rewards = [0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  const values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
  const ones = new Uint8Array(10).fill(1);
  const options = { gamma: 1, gammaTurns: 0.95, lam: 1 };

  it("estimates turns first, then the tokens within each, as RAGEN describes it", () => {
    const { advantages, returns } = biLevelGae(rewards, values, ones, rewards, options);
    close(advantages, [1.85, 1.75, 1.65, 1.55, 1.45, 0.4, 0.3, 0.2, 0.1, 0]);
    close(returns, [1.95, 1.95, 1.95, 1.95, 1.95, 1, 1, 1, 1, 1]);
    const half = [1.188, 1.0596, 0.9311, 0.8027, 0.6743];
    close(whiten(advantages, ones), [...half, ...half.toReversed().map((a) => -a)], 3);
  });

  it("is plain gae where the only end is the last token", () => {
    const ends = new Uint8Array(10).with(9, 1);
    const options = { gamma: 0.9, gammaTurns: 0.5, lam: 0.8 };
    const plain = gae([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], values, ones, 0.9, 0.8);
    close(
      biLevelGae([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], values, ones, ends, options).advantages,
      [...plain.advantages],
      12,
    );
  });
});

it("leave-one-out advantages subtract the mean of the others", () => {
  close(leaveOneOut([1, 0, 0, 4], [0, 0, 0, 1]), [1, -0.5, -0.5, 4]);
});

it("returns to go are discounted per trained token", () => {
  close(returnsToGo([0, 1, 0, 1], [1, 1, 0, 1], 0.5), [0.75, 1.5, 1, 1]);
});

describe("group-relative advantages", () => {
  const scores = [1, 0, 0, 1, 0, 0, 0, 0];
  const group = new Int32Array(8);

  it("divides by the unbiased standard deviation", () => {
    const advantages = groupRelative(scores, group, true);
    close(
      advantages,
      scores.map((s) => (s === 1 ? 1.62018 : -0.54006)),
      4,
    );
  });

  it("leaves the deviation out for Dr.GRPO", () => {
    close(
      groupRelative(scores, group, false),
      scores.map((s) => s - 0.25),
      12,
    );
  });

  it("keeps the score of a group of one", () => {
    close(groupRelative([3, 1, 2], [7, 8, 8], true), [3, -Math.SQRT1_2, Math.SQRT1_2], 4);
    close(groupRelative([3, 1, 2], [7, 8, 8], false), [3, -0.5, 0.5]);
  });

  it("gives a group of equal scores no advantage", () => {
    close(groupRelative([2, 2, 2], [0, 0, 0], true), [0, 0, 0]);
  });
});

it("batch-relative advantages are those of one group", () => {
  const scores = [3, 1, 2, 7];
  expect(batchRelative(scores, true)).toEqual(groupRelative(scores, [5, 5, 5, 5], true));
});

describe("soft weights", () => {
  it("are each group's spread over the largest", () => {
    const weights = softWeights([0, 2, 0, 4, 1, 1], [3, 3, 5, 5, 8, 8]);
    close([...weights.values()], [0.5, 1, 0]);
    expect([...weights.keys()]).toEqual([3, 5, 8]);
  });

  it("take the spread of a group of one for 1", () => {
    close([...softWeights([0, 4, 9], [0, 0, 1]).values()], [1, 1 / (2 * Math.SQRT2)]);
  });

  it("are 0 where no group has any spread", () => {
    expect([...softWeights([2, 2, 1, 1], [0, 0, 1, 1]).values()]).toEqual([0, 0]);
  });
});

it("relative lengths are trained tokens over their mean", () => {
  close(relativeLengths([1, 2, 3]), [0.5, 1, 1.5]);
});

it("scales the loss by the kept share or its root", () => {
  expect(filterLossScale("none", 0.25)).toBe(1);
  expect(filterLossScale("linear", 0.25)).toBe(0.25);
  expect(filterLossScale("sqrt", 0.25)).toBe(0.5);
});
