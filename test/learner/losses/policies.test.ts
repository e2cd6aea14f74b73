/** The policy losses with a name against PyTorch, in value and gradient. */
import { describe, expect, it } from "vitest";
import { type Aggregation, tokenWeights } from "../../../src/learner/batches.ts";
import type { KlType } from "../../../src/learner/losses/klEstimate.ts";
import type { PolicyLossName, PolicyLossOptions } from "../../../src/learner/losses/policyLoss.ts";
import golden from "../../fixtures/losses/policies.json" with { type: "json" };
import { Alone, sequencesOf } from "./Alone.ts";
import type { Sequence } from "./direct.ts";

const { rows, time } = golden;
const all = Array.from({ length: rows }, (_, row) => row);
const batch = {
  offsets: Int32Array.from({ length: rows + 1 }, (_, i) => i * time),
  mask: Uint8Array.from(golden.mask),
};
const ones = golden.mask.map(() => 1);
const zeros = golden.mask.map(() => 0);

/** The rows of the fixture, padding and all. */
const sequences = (mode: Aggregation, advantages: readonly number[], importance: readonly number[]) =>
  sequencesOf(batch, { ...golden, entropy: zeros, advantages, weights: tokenWeights(batch, all, mode), importance });

const expectSame = async (
  options: PolicyLossOptions,
  given: readonly Sequence[],
  expected: { readonly loss: number; readonly gradLogp: readonly number[] },
): Promise<void> => {
  await using alone = await Alone.open(options);
  const { dlogp, loss } = await alone.run(given);
  expect(loss).toBeCloseTo(expected.loss, 5);
  expect(Math.max(...expected.gradLogp.map(Math.abs))).toBeGreaterThan(0.01);
  expected.gradLogp.forEach((value, i) => {
    expect(dlogp[i], `at ${i}`).toBeCloseTo(value, 5);
  });
};

const clip = { ...golden.clip, dual: 0 };

describe("a loss equals PyTorch's", () => {
  const cases = golden.losses.map((each) => [`${each.name}, advantages ${each.advantages}`, each] as const);
  it.each(cases)("%s", async (_, expected) => {
    const advantages = expected.advantages === "perToken" ? golden.perToken : golden.perSequence;
    const mode = expected.mode as Aggregation;
    const given = sequences(mode, advantages, expected.weighted ? golden.importance : ones);
    const options = { loss: expected.name as PolicyLossName, clip, entropyCoefficient: 0, kl: undefined };
    await expectSame(options, given, expected);
  });
});

describe("a straight-through divergence equals PyTorch's", () => {
  it.each(golden.divergences.map((each) => [each.name, each] as const))("%s", async (name, expected) => {
    const kl = { coefficient: 1, type: name as KlType };
    const options = { loss: "gpg", clip, entropyCoefficient: 0, kl } as const;
    await expectSame(options, sequences("token-mean", zeros, ones), expected);
  });
});
