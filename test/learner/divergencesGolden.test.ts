/** Estimates of the divergence from the reference against PyTorch: by token, in expectation, and as a part of the reward. */
import { describe, expect, it } from "vitest";
import { type KlType, klEstimate, klOf } from "../../src/learner/losses/klEstimate.ts";
import { penaliseRewards } from "../../src/learner/rewardPenalty.ts";
import { float32, Session } from "../../src/model/runtime/Session.ts";
import { gradients } from "../../src/model/tensor/Gradients.ts";
import { Graph } from "../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../src/model/tensor/Layout.ts";
import golden from "../fixtures/estimators/estimators.json" with { type: "json" };
import { expectNear, expectTokens, reference, window } from "./estimatorsFixture.ts";

const { differences, expected, rewards, tokens } = golden.divergences;

/** Estimates and their gradients by `logp`, of tokens alone. */
const estimates = async (logp: readonly number[], others: readonly number[], type: KlType) => {
  const graph = new Graph();
  const given = (name: string) => graph.input(name, "float32", [logp.length]);
  const logProbs = given("logp");
  const estimate = klEstimate(logProbs, given("reference"), type);
  graph.output("values", estimate);
  graph.output("gradients", gradients(reduceSum(estimate), [logProbs])[0]!);
  await using session = await Session.open(graph.toModel());
  const fed = (column: readonly number[]) => float32(Float32Array.from(column), [column.length]);
  using outputs = await session.run({ logp: fed(logp), reference: fed(others) });
  return { values: [...outputs.float32("values")], gradients: [...outputs.float32("gradients")] };
};

const expectAll = (actual: readonly number[], all: readonly number[]): void => {
  expect(actual).toHaveLength(all.length);
  for (const [i, value] of all.entries()) expectNear(actual[i], value, `at ${i}`);
};

describe("an estimate has the value and the gradient of PyTorch's", () => {
  it.each(tokens)("$type", async (pytorch) => {
    const type = pytorch.type as KlType;
    const zeros = differences.map(() => 0);
    const computed = await estimates(differences, zeros, type);
    expectAll(computed.values, pytorch.values);
    expectAll(computed.gradients, pytorch.gradients);
    if (type === "k1" || type === "abs" || type === "k2" || type === "k3")
      expectAll(
        differences.map((difference) => klOf(difference, 0, type)),
        pytorch.values,
      );
  });
});

describe("over the policy's own samples", () => {
  const logProbabilities = (logits: readonly number[]) => {
    const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
    return logits.map((logit) => logit - total);
  };
  const [current, others] = [logProbabilities(expected.logits), logProbabilities(expected.reference)];
  const shares = current.map(Math.exp);
  const mean = (termOf: (token: number) => number): number =>
    shares.reduce((sum, share, token) => sum + share * termOf(token), 0);
  const sampled = async (type: KlType) => {
    const { values, gradients } = await estimates(current, others, type);
    // d log p_token / d logit_i = [token = i] - p_i
    const byLogits = current.map((_, i) => mean((token) => gradients[token]! * ((token === i ? 1 : 0) - shares[i]!)));
    return { value: mean((token) => values[token]!), byLogits };
  };

  it.each(["k1", "k3", "k1+", "k3+"] as const)("the mean of %s is PyTorch's divergence", async (type) => {
    expectNear((await sampled(type)).value, expected.divergence);
  });

  it.each(["k2", "k1+", "abs+", "k3+"] as const)("the mean gradient of %s is that of PyTorch's", async (type) => {
    expectAll((await sampled(type)).byLogits, expected.gradient);
  });

  it("that of k1 is nothing, and of k3 another divergence's", async () => {
    expectAll((await sampled("k1")).byLogits, [0, 0, 0, 0, 0]);
    const away = (await sampled("k3")).byLogits.map((value, i) => Math.abs(value - expected.gradient[i]!));
    expect(Math.max(...away)).toBeGreaterThan(0.01);
  });
});

it.each(rewards)(
  "takes $coefficient times $type off the rewards, as PyTorch does",
  ({ coefficient, kl, rewards: penalisedRewards, type }) => {
    const penalised = penaliseRewards(window("turn"), reference, {
      coefficient,
      type: type as "k1" | "abs" | "k2" | "k3",
    });
    expectTokens(penalised.rewards, penalisedRewards);
    expectNear(penalised.kl, kl);
  },
);
