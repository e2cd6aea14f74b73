import { expect, it } from "vitest";
import { boundsOf } from "../../src/domain/Batch.ts";
import { penaliseRewards } from "../../src/learner/rewardPenalty.ts";
import { tokenBatch } from "../build/batches.ts";

const batch = tokenBatch({ seed: 4, lengths: [9, 14, 6], vocabulary: 19 });
const reference = batch.mu.map((value, t) => batch.mask[t]! * (value + Math.sin(t)));

it.each([
  ["k1", (d: number) => d],
  ["abs", (d: number) => Math.abs(d)],
  ["k2", (d: number) => d ** 2 / 2],
  ["k3", (d: number) => Math.exp(-d) + d - 1],
] as const)("takes the estimate %s of each sampled token off its reward", (type, estimate) => {
  const { kl, rewards } = penaliseRewards(batch, reference, { coefficient: 0.3, type });
  const means = [0, 1, 2].map((sequence) => {
    const [from, to] = boundsOf(batch, sequence);
    let [sum, count] = [0, 0];
    for (let t = from; t < to; t++) {
      const off = batch.mask[t] === 0 ? 0 : estimate(batch.mu[t]! - reference[t]!);
      expect(rewards[t]).toBeCloseTo(batch.rewards[t]! - 0.3 * off, 5);
      sum += off;
      count += batch.mask[t]!;
    }
    return sum / count;
  });
  expect(kl).toBeCloseTo((means[0]! + means[1]! + means[2]!) / 3, 5);
});

it("leaves tokens that nobody sampled alone", () => {
  const shown = { ...batch, mask: batch.mask.map((_, t) => (t === 0 ? 0 : 1)) };
  expect(penaliseRewards(shown, reference, { coefficient: 0.3, type: "k3" })).toEqual(
    penaliseRewards(batch, reference, { coefficient: 0.3, type: "k3" }),
  );
});

it("changes no reward where policy and reference agree", () => {
  const { kl, rewards } = penaliseRewards(batch, batch.mu, { coefficient: 5, type: "k1" });
  expect([kl, rewards]).toEqual([0, batch.rewards]);
});
