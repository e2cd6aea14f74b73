import { expect, it } from "vitest";
import { Actor } from "../../src/learner/Actor.ts";
import { Critic, criticFrom } from "../../src/learner/Critic.ts";
import { creditedBatch } from "./batch.ts";
import { actorDefaults, criticDefaults, tiny, tinyParameters } from "./model.ts";

const modes = ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"] as const;
const batch = creditedBatch({ seed: 2, lengths: [30, 6, 17, 22, 9], vocabulary: tiny.vocabSize });
const mini = [4, 0, 2, 1];
// One row at a time, two at a time, all at once.
const budgets = [1, 64, 10_000];

const expectEqual = (gradients: readonly Float32Array[]) => {
  const [first, ...others] = gradients;
  const norm = Math.hypot(...first);
  expect(norm).toBeGreaterThan(1e-3);
  for (const other of others)
    expect(Math.hypot(...other.map((value, i) => value - first[i])) / norm).toBeLessThan(1e-5);
};

it.each(modes)("the policy's gradient does not depend on the cut into micro-batches: %s", async (mode) => {
  const gradients = [];
  for (const budget of budgets) {
    const actor = { ...actorDefaults, loss_agg_mode: mode, micro_batch_tokens: budget };
    await using opened = await Actor.open(tiny, tinyParameters(), { actor, threads: 1 });
    const targets = {
      old: batch.mu,
      advantages: batch.advantages,
      importance: batch.mu.map((value) => 1 - value / 10),
      reference: undefined,
    };
    const made = await opened.gradient(batch, mini, targets, new Float32Array(batch.ids.length));
    if (made !== null) gradients.push(made.gradient);
  }
  expect(gradients.length).toBe(budgets.length);
  expectEqual(gradients);
});

it("nor does the critic's", async () => {
  const gradients = [];
  for (const microBatchTokens of budgets) {
    await using critic = await Critic.open(tiny, criticFrom(tiny, tinyParameters()), {
      critic: criticDefaults,
      aggregation: "token-mean",
      microBatchTokens,
      threads: 1,
    });
    const made = await critic.gradient(batch, mini, new Float32Array(batch.ids.length));
    if (made !== null) gradients.push(made.gradient);
  }
  expect(gradients.length).toBe(budgets.length);
  expectEqual(gradients);
});
