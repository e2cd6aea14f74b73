import { describe, expect, it } from "vitest";
import { type Aggregation, tokenWeights } from "../../src/learner/batches.ts";
import type { KlType } from "../../src/learner/losses/klEstimate.ts";
import { cloningLoss, policyLoss } from "../../src/learner/losses/policyLoss.ts";
import { valueLoss } from "../../src/learner/losses/valueLoss.ts";
import { Network } from "../../src/learner/Network.ts";
import { adamWModel, stepScalars } from "../../src/learner/optimiser/adamWModel.ts";
import { parametersOf } from "../../src/model/graphs/Parameters.ts";
import { float32, Session } from "../../src/model/runtime/Session.ts";
import { gradients } from "../../src/model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../../src/model/tensor/Graph.ts";
import { encode } from "../../src/model/tensor/Onnx.ts";
import golden from "../fixtures/losses/losses.json" with { type: "json" };

const { rows, time } = golden;
const tokens = rows * time;
// Each row of the fixture is a sequence of `time` targets; positions and targets coincide here.
const batch = {
  offsets: Int32Array.from({ length: rows + 1 }, (_, i) => i * time),
  mask: Uint8Array.from(golden.mask),
};
const all = Array.from({ length: rows }, (_, i) => i);

const inputOf = (graph: Graph, name: string): Tensor => graph.input(name, "float32", [tokens]);
const gradientOf = (output: Tensor, by: Tensor): Tensor => gradients(output, [by])[0]!;

const run = async (graph: Graph, values: Readonly<Record<string, ArrayLike<number>>>) => {
  await using session = await Session.open(graph.toModel());
  const feeds = Object.entries(values).filter(([name]) => session.inputs.includes(name));
  return await session.run(
    Object.fromEntries(feeds.map(([name, list]) => [name, float32(Float32Array.from(list), [list.length])])),
  );
};

const near = (actual: ArrayLike<number>, expected: readonly number[]) => {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => {
    expect(Math.abs((actual[i] ?? Number.NaN) - value)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(value)));
  });
};

const klType = (name: string | null): KlType | undefined =>
  name === "k1" || name === "abs" || name === "k2" || name === "k3" ? name : undefined;
const modes: readonly Aggregation[] = [
  "token-mean",
  "seq-mean-token-mean",
  "seq-mean-token-sum",
  "seq-mean-token-sum-norm",
];
const weightsOf = (mode: string) =>
  tokenWeights(batch, all, modes.find((candidate) => candidate === mode) ?? "token-mean");

describe("the policy loss equals PyTorch's in value and gradient", () => {
  it.each(
    golden.policy.map((expected) => [`${expected.mode}, dual ${expected.dual}, kl ${expected.kl}`, expected] as const),
  )("%s", async (_, expected) => {
    const graph = new Graph();
    const given = (name: string) => inputOf(graph, name);
    const type = klType(expected.kl);
    const inputs = {
      logp: given("logp"),
      old: given("old"),
      advantages: given("advantages"),
      entropy: given("entropy"),
      weights: given("weights"),
      importance: given("importance"),
      reference: given("reference"),
      sequences: undefined,
    };
    const loss = policyLoss(inputs, {
      loss: "ppo",
      clip: { low: 0.2, high: 0.28, dual: expected.dual },
      entropyCoefficient: 0.01,
      kl: type && { coefficient: 0.05, type },
    });
    graph.output("loss", loss.total);
    graph.output("surrogate", loss.surrogate);
    if (loss.kl) graph.output("kl", loss.kl);
    graph.output("byLogp", gradientOf(loss.total, inputs.logp));
    graph.output("byEntropy", gradientOf(loss.total, inputs.entropy));
    const { logp, old, advantages, entropy, importance, reference } = golden;
    const perToken = { logp, old, advantages, entropy, importance, reference };
    const results = await run(graph, { ...perToken, weights: weightsOf(expected.mode) });
    near(results.float32("loss"), [expected.loss]);
    near(results.float32("surrogate"), [expected.surrogate]);
    if (loss.kl) near(results.float32("kl"), [expected.klLoss]);
    near(results.float32("byLogp"), expected.gradLogp);
    near(results.float32("byEntropy"), expected.gradEntropy);
  });
});

describe("the value loss equals PyTorch's in value and gradient", () => {
  it.each(golden.values.cases.map((expected) => [expected.mode, expected] as const))("%s", async (mode, expected) => {
    const graph = new Graph();
    const given = (name: string) => inputOf(graph, name);
    const inputs = { values: given("values"), old: given("old"), returns: given("returns"), weights: given("weights") };
    const loss = valueLoss(inputs, golden.values.clip);
    graph.output("loss", loss);
    graph.output("byValues", gradientOf(loss, inputs.values));
    const { new: predicted, old: before, returns: targets } = golden.values;
    const results = await run(graph, { values: predicted, old: before, returns: targets, weights: weightsOf(mode) });
    near(results.float32("loss"), [expected.loss]);
    near(results.float32("byValues"), expected.gradValues);
  });
});

it("cloning is the mean negative log-likelihood of the targets", async () => {
  const graph = new Graph();
  graph.output("loss", cloningLoss(inputOf(graph, "logp"), inputOf(graph, "weights")));
  const results = await run(graph, { logp: golden.logp, weights: weightsOf("token-mean") });
  const trained = golden.logp.filter((_, t) => golden.mask[t] === 1);
  near(results.float32("loss"), [-trained.reduce((sum, value) => sum + value, 0) / trained.length]);
});

describe("AdamW", () => {
  const { betas, eps, weightDecay, gradClip, start, steps } = golden.adamw;
  const specs = [{ name: "p", shape: [start.length] }];
  const [first = Number.NaN, second = Number.NaN] = betas;
  const options = { betas: [first, second] as const, eps, weightDecay, gradClip };
  const open = () => new Network(parametersOf(specs, Float32Array.from(start)), options);

  it("follows PyTorch's steps and gradient clipping", async () => {
    const network = open();
    for (const { gradient, lr, norm, parameters } of steps) {
      const update = await network.step([Float32Array.from(gradient)], lr);
      near([update.norm], [norm]);
      near(network.parameters.flat, parameters);
    }
  });

  it("changes nothing on a gradient that is not finite", async () => {
    const network = open();
    const gradient = Float32Array.from(steps[0]!.gradient).fill(Number.POSITIVE_INFINITY, 3, 4);
    expect((await network.step([gradient], 1)).applied).toBe(false);
    near(network.parameters.flat, start);
    expect(network.moments.steps).toBe(0);
  });

  it("is the same as a model of a device, step by step", async () => {
    const network = open();
    const dims = [start.length];
    const optimiser = {
      parameters: Float32Array.from(start),
      first: new Float32Array(dims[0]!),
      second: new Float32Array(dims[0]!),
    };
    await using session = await Session.open(adamWModel(start.length, options));
    for (const [index, { gradient, lr }] of steps.entries()) {
      await network.step([Float32Array.from(gradient)], lr);
      const vectors = { ...optimiser, gradient: Float32Array.from(gradient) };
      using outputs = await session.run({
        ...Object.fromEntries(Object.entries(vectors).map(([name, values]) => [name, float32(values, dims)])),
        ...Object.fromEntries(
          Object.entries(stepScalars(options, lr, index + 1)).map(([name, value]) => [
            name,
            float32(Float32Array.of(value), []),
          ]),
        ),
      });
      for (const name of ["parameters", "first", "second"] as const)
        optimiser[name] = outputs.float32(`new_${name}`).slice();
      near(network.parameters.flat, [...optimiser.parameters]);
      near(network.moments.second, [...optimiser.second]);
    }
  });

  it("is one model whatever the number of tensors", () => {
    const bytes = encode(adamWModel(10, options)).length;
    expect(encode(adamWModel(1_000_000, options)).length - bytes).toBeLessThan(100);
  });
});
