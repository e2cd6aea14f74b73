import { afterAll, expect, it } from "vitest";
import { Actor } from "../../src/learner/Actor.ts";
import { Critic, criticFrom } from "../../src/learner/Critic.ts";
import { Lanes } from "../../src/learner/lanes/Lanes.ts";
import { creditedBatch } from "../build/batches.ts";
import { actorDefaults, algorithmDefaults, criticDefaults, tiny, tinyParameters } from "./model.ts";

const modes = ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"] as const;
const batch = creditedBatch({ seed: 2, lengths: [30, 6, 17, 22, 9], vocabulary: tiny.vocabSize });
const mini = [4, 0, 2, 1];
// One row at a time, two at a time, all at once.
const budgets = [1, 64, 10_000];

/** One lane, and two that share the micro-batches. */
const lanes = [await Lanes.open(1, 1), await Lanes.open(2, 1)];
afterAll(() => Promise.all(lanes.map((each) => each[Symbol.asyncDispose]())));
const cuts = budgets.flatMap((budget) => lanes.map((each) => ({ budget, lanes: each })));

const losses = ["ppo", "gspo", "geo_mean", "cispo", "gpg"] as const;

const expectEqual = (gradients: readonly (readonly number[])[]) => {
  const [first, ...others] = gradients;
  if (first === undefined) return expect.unreachable();
  const norm = Math.hypot(...first);
  expect(norm).toBeGreaterThan(1e-3);
  for (const other of others)
    expect(Math.hypot(...other.map((value, i) => value - (first[i] ?? Number.NaN))) / norm).toBeLessThan(1e-5);
};

it.each([
  ...modes.map((mode) => ["ppo", mode] as const),
  ...losses.slice(1).map((loss) => [loss, "seq-mean-token-mean"] as const),
])(
  "the policy's gradient does not depend on the cut into micro-batches nor on the lanes: %s, %s",
  async (loss, mode) => {
    const gradients = [];
    for (const { budget, lanes } of cuts) {
      const actor = { ...actorDefaults, policy_loss: loss, loss_agg_mode: mode, micro_batch_tokens: budget };
      const opened = await Actor.open(tiny, tinyParameters(), {
        actor,
        algorithm: algorithmDefaults,
        lanes,
      });
      const targets = {
        old: batch.mu,
        advantages: batch.advantages,
        importance: batch.mu.map((value) => 1 - value / 10),
        reference: undefined,
      };
      const result = await opened.gradient(batch, mini, targets, new Float32Array(batch.ids.length));
      if (result !== null) gradients.push(result.gradients.flatMap((each) => Array.from(each)));
    }
    expect(gradients.length).toBe(cuts.length);
    expectEqual(gradients);
  },
);

it("nor does the critic's", async () => {
  const gradients = [];
  for (const { budget, lanes } of cuts) {
    const critic = await Critic.open(tiny, criticFrom(tiny, tinyParameters()), {
      critic: criticDefaults,
      actor: { ...actorDefaults, micro_batch_tokens: budget },
      lanes,
    });
    const result = await critic.gradient(batch, mini, new Float32Array(batch.ids.length));
    if (result !== null) gradients.push(result.gradients.flatMap((each) => Array.from(each)));
  }
  expect(gradients.length).toBe(cuts.length);
  expectEqual(gradients);
});
