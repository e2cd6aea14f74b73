/** A policy loss of the user's own: the example's values and gradients against a direct computation, and its way into the learner. */
import { describe, expect, it } from "vitest";
import sapo from "../../../docs/examples/loss.ts";
import type { PolicyLossOptions } from "../../../src/learner/losses/policyLoss.ts";
import { policyLossOptions } from "../../../src/learner/models.ts";
import { actorDefaults, algorithmDefaults } from "../model.ts";
import { Alone } from "./Alone.ts";

const logp = [-1, -0.5, -2, -0.1];
const old = [-1.2, -0.5, -1.5, -3];
const advantages = [1, -0.5, -2, 0.7];
const ones = logp.map(() => 1);
const zeros = logp.map(() => 0);

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** The loss of one token as the paper has it. */
const direct = (t: number, x: number): number => {
  const advantage = advantages[t]!;
  const temperature = advantage > 0 ? 1 : 1.05;
  return -advantage * sigmoid(temperature * (Math.exp(x - old[t]!) - 1)) * (4 / temperature);
};

describe("a custom policy loss", () => {
  it("has the value and the gradient of its formula", async () => {
    const options: PolicyLossOptions = {
      loss: sapo,
      clip: { low: 0.2, high: 0.2, dual: 0 },
      entropyCoefficient: 0,
      kl: undefined,
    };
    await using alone = await Alone.open(options);
    const { dlogp, loss } = await alone.run([
      { logp, old, advantages, weights: ones, importance: ones, entropy: zeros, reference: zeros },
    ]);
    expect(loss).toBeCloseTo(
      logp.reduce((sum, x, t) => sum + direct(t, x), 0),
      4,
    );
    for (const [t, x] of logp.entries()) {
      const slope = (direct(t, x + 1e-6) - direct(t, x - 1e-6)) / 2e-6;
      expect(dlogp[t], `token ${t}`).toBeCloseTo(slope, 4);
    }
  });

  it("is required where the run file asks for one", () => {
    const actor = { ...actorDefaults, policy_loss: "custom" } as const;
    expect(() => policyLossOptions(actor, algorithmDefaults)).toThrow("its module has not been loaded");
    expect(policyLossOptions(actor, algorithmDefaults, sapo).loss).toBe(sapo);
  });
});
