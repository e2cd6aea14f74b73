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

const cases = golden.estimators.flatMap((of) =>
  placements
    .filter((placement) => of.placement === null || of.placement === placement)
    .map((placement) => ({ of, placement })),
);

describe("advantages and returns equal PyTorch's", () => {
  it.each(cases)("$of.name, rewards by $placement, $of.algorithm", ({ of, placement }) => {
    const batch = { ...window(placement), keptRatio: of.keptRatio };
    const prepared = { values, rewards: batch.rewards, proximal };
    const options = { algorithm: algorithmOf(of.algorithm), lossScaling: scalingOf(of.lossScaling) };
    const made = assignCredit(batch, prepared, options);
    expectTokens(made.advantages, of.advantages);
    expectTokens(made.returns, of.returns ?? of.advantages);
  });
});

it("the values explain the share of the returns' variance that PyTorch says", () => {
  const batch = window("turn");
  const options = { algorithm: algorithmOf({}), lossScaling: "none" } as const;
  const credited = assignCredit(batch, { values, rewards: batch.rewards }, options);
  expectMetrics(batchMetrics(credited, true), golden.metrics.explained);
});
