import { expect, it } from "vitest";
import { interpolatedCorrection, logLinearPlaces } from "../../src/learner/corrections/logLinear.ts";
import { type PolicyLossOptions, policyLoss } from "../../src/learner/losses/policyLoss.ts";
import { policyLossOptions } from "../../src/learner/models.ts";
import { float32, Session } from "../../src/model/runtime/Session.ts";
import { gradients } from "../../src/model/tensor/Gradients.ts";
import { Graph } from "../../src/model/tensor/Graph.ts";
import { actorDefaults, algorithmDefaults } from "./model.ts";

const versions = Int32Array.of(9, 8, 7, 2, 9, 5);
const mask = new Uint8Array(6).fill(1);
const mu = Float32Array.of(-1, -2, -0.5, -3, -1.5, -2.5);
const logp = Float32Array.of(-1.2, -1.1, -0.9, -2, -1, -4);
const advantages = Float32Array.of(1, 1.5, -1, 2, -0.5, 1);
const batch = { mask, mu, versions, offsets: Int32Array.of(0, 6) };

const run = async (options: PolicyLossOptions, given: Readonly<Record<string, Float32Array>>) => {
  const graph = new Graph();
  const input = (name: string) => graph.input(name, "float32", [6]);
  const log = input("logp");
  const loss = policyLoss(
    {
      logp: log,
      entropy: input("entropy"),
      old: input("old"),
      advantages: input("advantages"),
      importance: input("importance"),
      weights: input("weights"),
      reference: undefined,
      sequences: undefined,
      places: options.logLinear === undefined ? undefined : input("places"),
    },
    options,
  );
  graph.output("loss", loss.total);
  graph.output("gradient", gradients(loss.total, [log])[0]!);
  await using session = await Session.open(graph.toModel());
  const feeds = Object.entries(given).filter(([name]) => session.inputs.includes(name));
  const results = await session.run(Object.fromEntries(feeds.map(([name, data]) => [name, float32(data, [6])])));
  return { loss: results.float32("loss")[0] ?? Number.NaN, gradient: results.float32("gradient") };
};

it.each([0, 0.5, 1])(
  "with %f of the update behind it is decoupled PPO against the interpolated policy",
  async (progress) => {
    const algorithm = { ...algorithmDefaults, correction: "loglinear" as const, correction_cap: 2 };
    const options = policyLossOptions({ ...actorDefaults, entropy_coeff: 0 }, algorithm);
    const places = logLinearPlaces(batch, 9, progress);
    const { importance, old } = interpolatedCorrection(batch, [0], { cap: 2, logp, places });
    const common = { logp, advantages, entropy: new Float32Array(6), weights: new Float32Array(6).fill(1 / 6) };
    const interpolated = await run(options, { ...common, old: mu, importance: new Float32Array(6).fill(1), places });
    const plain = await run({ ...options, logLinear: undefined }, { ...common, old, importance });
    expect(interpolated.loss).toBeCloseTo(plain.loss, 5);
    for (const [t, value] of plain.gradient.entries()) expect(interpolated.gradient[t]).toBeCloseTo(value, 5);
    expect(plain.gradient.some((value) => value !== 0)).toBe(true);
  },
);
