/** Advantages and returns of every estimator against PyTorch, from the rewards of a window on. */
import { describe, it } from "vitest";
import { AlgorithmSection } from "../../src/config/RunConfig.ts";
import { assignCredit, type CreditOptions } from "../../src/learner/credit.ts";
import { batchMetrics } from "../../src/learner/updateMetrics.ts";
import { configsOf } from "../build/config.ts";
import golden from "../fixtures/estimators/estimators.json" with { type: "json" };
import { expectMetrics, expectTokens, placements, proximal, values, window } from "./estimatorsFixture.ts";

const algorithmOf = configsOf(AlgorithmSection);
const scalingOf = (name: string): CreditOptions["lossScaling"] =>
  name === "linear" || name === "sqrt" ? name : "none";

const cases = golden.estimators.flatMap((estimator) =>
  placements
    .filter((placement) => estimator.placement === null || estimator.placement === placement)
    .map((placement) => ({ of: estimator, placement })),
);

describe("advantages and returns equal PyTorch's", () => {
  it.each(cases)("$of.name, rewards by $placement, $of.algorithm", ({ of: estimator, placement }) => {
    const batch = { ...window(placement), keptRatio: estimator.keptRatio };
    const prepared = { values, rewards: batch.rewards, proximal };
    const options = { algorithm: algorithmOf(estimator.algorithm), lossScaling: scalingOf(estimator.lossScaling) };
    const credit = assignCredit(batch, prepared, options);
    expectTokens(credit.advantages, estimator.advantages);
    expectTokens(credit.returns, estimator.returns ?? estimator.advantages);
  });
});

it("the values explain the share of the returns' variance that PyTorch says", () => {
  const batch = window("turn");
  const options = { algorithm: algorithmOf({}), lossScaling: "none" } as const;
  const credited = assignCredit(batch, { values, rewards: batch.rewards }, options);
  expectMetrics(batchMetrics(credited, true), golden.metrics.explained);
});
