/** Every policy loss alone, over random sequences: its value, its gradients and how it falls into micro-batches. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyLossOptions } from "../../../src/learner/losses/policyLoss.ts";
import { assertProperty } from "../../property.ts";
import { Alone } from "./Alone.ts";
import { directGradient, directLoss, type Sequence } from "./direct.ts";

const clip = { low: 0.2, high: 0.28, dual: 3 };
const plain = { clip, entropyCoefficient: 0.01, kl: undefined };
const divergent = (type: NonNullable<PolicyLossOptions["kl"]>["type"]): PolicyLossOptions => ({
  ...plain,
  loss: "ppo",
  kl: { coefficient: 0.3, type },
});
const cases: readonly PolicyLossOptions[] = [
  { ...plain, loss: "ppo" },
  { ...plain, loss: "ppo", clip: { ...clip, dual: 0 }, entropyCoefficient: 0 },
  { ...plain, loss: "gspo" },
  { ...plain, loss: "gspo", clip: { low: 3e-4, high: 4e-4, dual: 3 } },
  { ...plain, loss: "geo_mean", kl: { coefficient: 0.1, type: "k2" } },
  { ...plain, loss: "cispo" },
  { ...plain, loss: "gpg" },
  ...(["k1", "abs", "k2", "k3", "k1+", "abs+", "k3+"] as const).map(divergent),
];
const titled = cases.map(
  (options) =>
    [
      `${options.loss}, clip ${options.clip.low}, dual ${options.clip.dual}, kl ${options.kl?.type ?? "none"}`,
      options,
    ] as const,
);

/** Log-probabilities on a grid, and differences from them that keep off the kinks of ratios of one token. */
const target = fc.record({
  old: fc.integer({ min: -64, max: -8 }).map((n) => n / 16),
  moved: fc.integer({ min: -48, max: 48 }).map((n) => n / 32 + 0.011),
  apart: fc.integer({ min: -32, max: 32 }).map((n) => n / 32 + 0.017),
  entropy: fc.integer({ min: 0, max: 32 }).map((n) => n / 16),
  advantage: fc.integer({ min: -24, max: 24 }).map((n) => n / 8),
  weight: fc.integer({ min: 1, max: 16 }).map((n) => n / 64),
  importance: fc.integer({ min: 0, max: 32 }).map((n) => n / 16),
});
const sequence: fc.Arbitrary<Sequence> = fc.array(target, { minLength: 1, maxLength: 6 }).map((targets) => ({
  logp: targets.map(({ moved, old }) => Math.fround(old + moved)),
  entropy: targets.map(({ entropy }) => entropy),
  old: targets.map(({ old }) => old),
  advantages: targets.map(({ advantage }) => advantage),
  weights: targets.map(({ weight }) => weight),
  importance: targets.map(({ importance }) => importance),
  reference: targets.map(({ apart, moved, old }) => Math.fround(old + moved - apart)),
}));
const batch = fc.array(sequence, { minLength: 1, maxLength: 5 });

const near = (actual: readonly number[], expected: readonly number[], tolerance: number): void => {
  expect(actual.length).toBe(expected.length);
  const size = Math.max(1, ...expected.map(Math.abs));
  actual.forEach((value, i) => {
    expect(Math.abs(value - expected[i]!) / size, `at ${i}`).toBeLessThan(tolerance);
  });
};
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

describe.each(titled)("%s", (_, options) => {
  it("is what its formula gives, in value and gradient, whatever pads it", async () => {
    await using alone = await Alone.open(options);
    const property = fc.asyncProperty(batch, fc.integer({ min: 0, max: 3 }), async (sequences, padding) => {
      const { dentropy, dlogp, loss } = await alone.run(sequences, padding);
      near([loss], [sum(sequences.map((each) => directLoss(each, each.logp, options)))], 1e-5);
      const expected = sequences.flatMap((each) => directGradient(each, options));
      near(dlogp.slice(0, expected.length), expected, 1e-4);
      const weights = sequences.flatMap((each) => each.weights);
      near(
        dentropy.slice(0, expected.length),
        weights.map((weight) => -options.entropyCoefficient * weight),
        1e-6,
      );
      for (const gradient of [dlogp, dentropy]) {
        expect(gradient.slice(expected.length).map(Math.abs)).toEqual(new Array(padding).fill(0));
      }
    });
    await assertProperty(property, { numRuns: 30 });
  });

  it("adds up over any cut between sequences", async () => {
    await using alone = await Alone.open(options);
    const cut = fc.tuple(batch, fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }));
    const property = fc.asyncProperty(cut, async ([sequences, cuts]) => {
      const parts: Sequence[][] = [[]];
      for (const [i, each] of sequences.entries()) {
        parts.at(-1)!.push(each);
        if (cuts[i] && i < sequences.length - 1) parts.push([]);
      }
      const whole = await alone.run(sequences);
      const each = [];
      for (const part of parts) each.push(await alone.run(part));
      near([sum(each.map(({ loss }) => loss))], [whole.loss], 1e-5);
      near(
        each.flatMap(({ dlogp }) => dlogp),
        whole.dlogp,
        1e-6,
      );
    });
    await assertProperty(property, { numRuns: 15 });
  });
});
