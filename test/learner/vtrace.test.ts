import * as fc from "fast-check";
import { expect, it } from "vitest";
import { gae } from "../../src/learner/advantages/gae.ts";
import { type VTraceOptions, vtrace } from "../../src/learner/advantages/vtrace.ts";
import { assertProperty } from "../property.ts";

const options: VTraceOptions = { gammaTurns: 1, lam: 1, rhoBar: 1, cBar: 1, mean: "product" };

interface Token {
  readonly trained: number;
  readonly reward: number;
  readonly value: number;
}
const whole = fc.integer({ min: -8, max: 8 });
/** Tokens of one trajectory; rewards lie on trained tokens. */
const trajectory = fc.array(
  fc
    .record({ trained: fc.constantFrom(0, 1, 1), reward: whole, value: whole })
    .map(({ trained, reward, value }): Token => ({ trained, value, reward: trained * reward })),
  { minLength: 1, maxLength: 30 },
);
const column = (tokens: readonly Token[], key: keyof Token) => tokens.map((token) => token[key]);
const where = (tokens: readonly Token[], values: Float64Array) =>
  [...values].filter((_, t) => tokens[t]?.trained === 1);

it("is Monte Carlo with a baseline where nothing has changed and nothing is discounted, as gae is", () => {
  assertProperty(
    fc.property(trajectory, (tokens) => {
      const [rewards, values, mask] = [column(tokens, "reward"), column(tokens, "value"), column(tokens, "trained")];
      const corrected = vtrace(rewards, values, new Float64Array(tokens.length), mask, options);
      const plain = gae(rewards, values, mask, 1, 1);
      expect(where(tokens, corrected.advantages)).toEqual(where(tokens, plain.advantages));
      expect(where(tokens, corrected.returns)).toEqual(where(tokens, plain.returns));
    }),
  );
});

it("is TD(lambda) over turns at their first tokens where nothing has changed", () => {
  // Three turns; the value of a turn's state is that of its first token.
  const mask = [1, 1, 0, 1, 0, 1, 1, 1];
  const rewards = [0, 1, 0, -2, 0, 0, 0, 3];
  const values = [0.5, 9, 9, 0.25, 9, -1, 9, 9];
  const turnRewards = [1, -2, 3];
  const at = [0.5, 0.25, -1];
  const turns = gae(turnRewards, at, [1, 1, 1], 0.9, 0.7);
  const corrected = vtrace(rewards, values, new Float64Array(8), mask, { ...options, gammaTurns: 0.9, lam: 0.7 });
  for (const [turn, first] of [0, 3, 5].entries())
    expect(corrected.returns[first]).toBeCloseTo(turns.returns[turn]!, 10);
});

it("leaves the critic its own value where the policy would not reply so any more", () => {
  const corrected = vtrace([0, 5, 0, 7], [1, 1, 0, 2], [-20, 0, 0, 0], [1, 1, 0, 1], options);
  // The first token is out of the question; the rest of the reply is not.
  expect(corrected.returns[0]).toBeCloseTo(1, 6);
  expect(corrected.returns[1]).toBeCloseTo(12, 6);
});

it("learns no faster of what has become likelier, and passes no more on", () => {
  const likelier = vtrace([1, 0, 2], [0.5, 0, 0.25], [3, 0, 3], [1, 0, 1], options);
  const same = vtrace([1, 0, 2], [0.5, 0, 0.25], [0, 0, 0], [1, 0, 1], options);
  expect(likelier).toEqual(same);
});

it("of values that are right changes none, whatever the ratios", () => {
  assertProperty(
    fc.property(fc.array(fc.tuple(whole, fc.double({ min: -3, max: 3, noNaN: true })), { minLength: 1 }), (turns) => {
      // One token a turn and a masked one behind it; each value is the sum of rewards to come.
      const rewards = turns.flatMap(([reward]) => [reward, 0]);
      const values = rewards.map((_, t) => rewards.slice(t).reduce((sum, reward) => sum + reward, 0));
      const logRatios = turns.flatMap(([, log]) => [log, 0]);
      const mask = turns.flatMap(() => [1, 0]);
      const corrected = vtrace(rewards, values, logRatios, mask, { ...options, rhoBar: 2, cBar: 1.5, lam: 0.9 });
      for (const [turn] of turns.entries()) {
        expect(corrected.returns[2 * turn]).toBeCloseTo(values[2 * turn]!, 9);
        expect(corrected.advantages[2 * turn]).toBeCloseTo(0, 9);
      }
    }),
  );
});
