import { describe, expect, it } from "vitest";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import type { TokenBatch } from "../../src/domain/Batch.ts";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { assignCredit, type CreditOptions, creditMetrics } from "../../src/learner/credit.ts";
import { configWith } from "../build/config.ts";
import golden from "../fixtures/credit/credit.json" with { type: "json" };
import { fixture, fixtureProximal, fixtureValues } from "./creditFixture.ts";

type Algorithm = RunConfig["algorithm"];
const algorithm = configWith().algorithm;
const placements = ["turn", "sequence"] as const;

const near = (actual: ArrayLike<number>, expected: readonly number[]) => {
  expect(actual.length).toBe(expected.length);
  for (const [t, value] of expected.entries())
    expect(Math.abs((actual[t] ?? Number.NaN) - value), `at ${t}`).toBeLessThan(2e-5 * Math.max(1, Math.abs(value)));
};

const credited = (
  batch: TokenBatch,
  change: Partial<Algorithm>,
  lossScaling: CreditOptions["lossScaling"] = "none",
  proximal?: Float32Array,
) =>
  assignCredit(
    batch,
    { values: fixtureValues, rewards: batch.rewards, ...(proximal === undefined ? {} : { proximal }) },
    { algorithm: { ...algorithm, ...change }, lossScaling },
  );

describe.each(placements)("where each %s carries its reward", (placement) => {
  const batch = fixture(placement);
  const expected = golden.placements[placement];
  const { episodes } = golden;

  it.each([
    ["grpo", { adv_estimator: "grpo" }, episodes.grpo],
    ["Dr.GRPO", { adv_estimator: "grpo", norm_adv_by_std_in_grpo: false }, episodes.drGrpo],
    ["brpo", { adv_estimator: "brpo" }, episodes.brpo],
    ["arpo", { adv_estimator: "arpo" }, episodes.arpo],
    ["rloo", { adv_estimator: "rloo" }, episodes.rloo],
    [
      "reinforce_plus_plus_baseline",
      { adv_estimator: "reinforce_plus_plus_baseline" },
      episodes.reinforce_plus_plus_baseline,
    ],
    ["grpo, softly reweighted", { adv_estimator: "grpo", soft_advantage_reweight: true }, episodes.soft],
    ["grpo, weighted by length", { adv_estimator: "grpo", grpo_advantage_length_weight: true }, episodes.length],
  ] as const)("%s counts every episode once, and credits all its sequences", (_, change, advantages) => {
    near(credited(batch, change).advantages, advantages);
  });

  it("reinforce_plus_plus sums what is to come", () => {
    const { advantages } = credited(batch, { adv_estimator: "reinforce_plus_plus", gamma: 0.9 });
    near(advantages, expected.reinforcePlusPlus);
  });

  it.each([
    ["gae", { gamma: 0.9, lam: 0.8, whiten: false }, expected.gae],
    [
      "bi-level gae",
      { gamma: 0.9, high_level_gamma: 0.7, lam: 0.8, whiten: false, bi_level_gae: true },
      expected.biLevel,
    ],
  ] as const)("%s runs along the trajectories", (_, change, { advantages, returns }) => {
    const credit = credited(batch, change);
    near(credit.advantages, advantages);
    near(credit.returns, returns);
  });

  it.each(expected.vtrace)("V-trace sums the corrected errors of turns: $mean, lambda $lam", (traced) => {
    const change: Partial<Algorithm> = {
      correction: "vtrace",
      whiten: false,
      lam: traced.lam,
      high_level_gamma: traced.gammaTurns,
      vtrace_rho_bar: traced.rhoBar,
      vtrace_c_bar: traced.cBar,
      correction_ratio: traced.mean === "geometric" ? "geometric" : "product",
    };
    const credit = credited(batch, change, "none", fixtureProximal);
    near(credit.advantages, traced.advantages);
    near(credit.returns, traced.returns);
    expect(credit.proximal).toBe(fixtureProximal);
  });
});

describe("weights on advantages", () => {
  const grpo = { adv_estimator: "grpo", soft_advantage_reweight: true } as const;

  it("follow one another as in RAGEN: spread, kept share", () => {
    const credit = credited({ ...fixture("turn"), keptRatio: 0.25 }, grpo, "sqrt");
    near(credit.advantages, golden.episodes.softThenHalf);
  });

  it("say what soft reweighting gave the groups", () => {
    const metrics = creditMetrics(fixture("sequence"), grpo);
    const { max, mean, min } = golden.softWeights;
    near(
      [learner.softReweightMin, learner.softReweightMax, learner.softReweightMean].map(
        (metric) => valueIn(metrics, metric) ?? Number.NaN,
      ),
      [min, max, mean],
    );
    expect(creditMetrics(fixture("sequence"), algorithm).size).toBe(0);
  });

  it("leave no advantage without the task, and the critic its returns", () => {
    const [with_, without] = [credited(fixture("turn"), {}), credited(fixture("turn"), { zero_task_advantage: true })];
    expect(without.advantages.every((advantage) => advantage === 0)).toBe(true);
    expect(without.returns).toEqual(with_.returns);
  });
});

it("V-trace is refused without the log-probabilities it corrects with", () => {
  expect(() => credited(fixture("turn"), { correction: "vtrace" })).toThrow("V-trace needs the log-probabilities");
});
