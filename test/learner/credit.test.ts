import { describe, expect, it } from "vitest";
import { boundsOf, type TokenBatch, trainedTokens } from "../../src/domain/Batch.ts";
import { assignCredit as assign, type CreditOptions } from "../../src/learner/credit.ts";
import { tokenBatch } from "../build/batches.ts";
import { configWith } from "../build/config.ts";

const algorithm = configWith().algorithm;
const batch = tokenBatch({ seed: 1, lengths: [9, 12, 7, 15], vocabulary: 11, groupSize: 2 });
const values = Float32Array.from(batch.ids, (id) => id / 11);
const credit = (batch: TokenBatch, values: Float32Array, options: CreditOptions) =>
  assign(batch, { values, rewards: batch.rewards }, options);
const zeroWhereUntrained = (array: Float32Array) => array.every((value, t) => batch.mask[t] === 1 || value === 0);

describe("credit", () => {
  it("whitens generalised advantages over the window and keeps returns raw", () => {
    const credited = credit(batch, values, { algorithm, lossScaling: "none" });
    const sum = credited.advantages.reduce((a, b) => a + b, 0);
    const squares = credited.advantages.reduce((a, b) => a + b * b, 0);
    expect(sum).toBeCloseTo(0, 4);
    expect(squares / (trainedTokens(batch) - 1)).toBeCloseTo(1, 4);
    expect(zeroWhereUntrained(credited.advantages) && zeroWhereUntrained(credited.returns)).toBe(true);
    // with gamma = lambda = 1 the return of a trained token is the reward still to come
    const last = boundsOf(batch, 0)[1] - 1;
    expect(credited.returns[last - 1]).toBeCloseTo(batch.rewards[last] ?? Number.NaN, 5);
  });

  it("spreads a group-relative advantage over the sequence's trained tokens", () => {
    const grpo = { ...algorithm, adv_estimator: "grpo" as const };
    const credited = credit({ ...batch, rewards: batch.rewards.fill(0).with(8, 1) }, values, {
      algorithm: grpo,
      lossScaling: "none",
    });
    const first = credited.advantages.subarray(0, 9);
    expect([...new Set(first)].sort()).toEqual([0, Math.fround(0.5 / (Math.SQRT1_2 + 1e-6))]);
    expect(credited.returns).toEqual(credited.advantages);
    expect(credited.values.every((value) => value === 0)).toBe(true);
    expect(zeroWhereUntrained(credited.advantages)).toBe(true);
  });

  it.each(["rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline"] as const)(
    "%s credits trained tokens only, and episodes that earned more above the others of their group",
    (adv_estimator) => {
      const rewards = batch.rewards.map(() => 0).with(8, 1);
      const credited = credit({ ...batch, rewards }, values, {
        algorithm: { ...algorithm, adv_estimator },
        lossScaling: "none",
      });
      expect(zeroWhereUntrained(credited.advantages)).toBe(true);
      expect(credited.advantages[8]).toBeGreaterThan(0.5);
      expect(credited.advantages[boundsOf(batch, 1)[1] - 1]).toBeLessThan(0);
    },
  );

  it("bi-level gae pays a turn's reward to that turn and, discounted, to those before it", () => {
    // two turns of two tokens; the reward lies on the first one's end
    const turns = {
      ...batch,
      ids: new Int32Array(6),
      offsets: Int32Array.of(0, 6),
      mask: Uint8Array.of(0, 1, 1, 0, 1, 1),
      rewards: Float32Array.of(0, 0, 1, 0, 0, 2),
    };
    const biLevel = { ...algorithm, bi_level_gae: true, high_level_gamma: 0.5, whiten: false };
    const credited = credit(turns, new Float32Array(6), { algorithm: biLevel, lossScaling: "none" });
    expect([...credited.advantages]).toEqual([0, 2, 2, 0, 2, 2]);
  });

  it("scales advantages, not returns, by the kept share", () => {
    const whole = credit(batch, values, { algorithm, lossScaling: "none" });
    const part = credit({ ...batch, keptRatio: 0.25 }, values, { algorithm, lossScaling: "sqrt" });
    for (const [t, advantage] of whole.advantages.entries()) expect(part.advantages[t]).toBeCloseTo(advantage / 2, 6);
    expect(part.returns).toEqual(whole.returns);
  });
});
