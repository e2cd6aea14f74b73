import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import {
  cloningLoss,
  type PolicyLossOptions,
  policyLoss,
  targetLossInputs,
} from "../../../../src/learner/losses/policyLoss.ts";
import { valueLoss } from "../../../../src/learner/losses/valueLoss.ts";
import { targetInput } from "../../../../src/learner/models.ts";
import { criticParameters, type DecoderConfig, parameters } from "../../../../src/model/graphs/Architecture.ts";
import { weightInputs } from "../../../../src/model/graphs/Decoder.ts";
import { policyForward, targetInputs, valueForward } from "../../../../src/model/graphs/Score.ts";
import type { Feeds } from "../../../../src/model/runtime/Session.ts";
import { causalAttention } from "../../../../src/model/tensor/Attention.ts";
import * as Elementwise from "../../../../src/model/tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../../../src/model/tensor/Graph.ts";
import { gather, segmentSum, takeAlong } from "../../../../src/model/tensor/Indexing.ts";
import { concat, expand, pad, reduceSum, reshape, slice, transpose } from "../../../../src/model/tensor/Layout.ts";
import { gemm, matmul } from "../../../../src/model/tensor/Linear.ts";
import { logSoftmax, reduceMax, reduceMean, reduceSumSquare, softmax } from "../../../../src/model/tensor/Reduction.ts";
import { rmsNorm, rotary, rotaryTables } from "../../../../src/model/tensor/Transformer.ts";
import { decoders, tiny } from "../../tiny.ts";
import {
  backwardModel,
  breakDerivative,
  type Differentiable,
  derivativesOf,
  distance,
  type Gradients,
  ours,
  tfjsGradients,
  type Wrong,
  withoutOneTerm,
} from "./autodiff.ts";
import { feedsOf, lossOptions } from "./graphs.ts";

const { abs, add, clip, div, exp, less, log, maximum, minimum, mul, neg, reciprocal } = Elementwise;
const { sigmoid, silu, sqrt, sub, tanh, where } = Elementwise;

/** The distance that float32 leaves between two ways to the same gradients. */
const NOISE = 2e-5;
/** A wrong derivative moves some gradient by more than this. */
const SEEN = 2e-4;

const namesOf = (specs: readonly { readonly name: string }[]): readonly string[] => specs.map(({ name }) => name);

/** Log-probabilities and entropies of the policy, each target weighed by its own random number. */
const policyOf = (config: DecoderConfig) => (): Differentiable => {
  const graph = new Graph("policy");
  const specs = parameters(config);
  const weights = weightInputs(graph, specs);
  const temperature = graph.input("temperature", "float32", []);
  const { entropy, logp } = policyForward(config, weights, targetInputs(graph), temperature);
  const weighed = mul(logp, targetInput(graph, "a"));
  return { graph, loss: reduceSum(add(weighed, mul(entropy, targetInput(graph, "b")))), by: namesOf(specs) };
};

const cloning = (): Differentiable => {
  const graph = new Graph("cloning");
  const specs = parameters(tiny);
  const weights = weightInputs(graph, specs);
  const { logp } = policyForward(tiny, weights, targetInputs(graph), graph.constant(1));
  return { graph, loss: cloningLoss(logp, targetInput(graph, "weights")), by: namesOf(specs) };
};

const criticOf = (config: DecoderConfig) => (): Differentiable => {
  const graph = new Graph("critic");
  const specs = criticParameters(config);
  const values = valueForward(config, weightInputs(graph, specs), targetInputs(graph));
  const target = (name: string) => targetInput(graph, name);
  const loss = valueLoss({ values, old: target("old"), returns: target("returns"), weights: target("weights") }, 0.5);
  return { graph, loss, by: namesOf(specs) };
};

/** Log ratios small enough that no target decides a gradient alone. */
const lossOf = (options: PolicyLossOptions) => (): Differentiable => {
  const graph = new Graph("loss");
  const logp = targetInput(graph, "logp");
  const entropy = targetInput(graph, "entropy");
  const inputs = targetLossInputs(graph, options);
  const near = (x: Tensor): Tensor => mul(x, 0.3);
  const bounded = { ...inputs, old: near(inputs.old), reference: inputs.reference && near(inputs.reference) };
  const { total } = policyLoss({ logp: near(logp), entropy, ...bounded }, options);
  return { graph, loss: total, by: ["logp", "entropy"] };
};

const kl = (type: NonNullable<PolicyLossOptions["kl"]>["type"]) =>
  lossOptions("ppo", { kl: { coefficient: 0.5, type } });

const networks: Readonly<Record<string, () => Differentiable>> = {
  ...Object.fromEntries(
    decoders.map(([name, config]) => [`log-probabilities and entropies of ${name}`, policyOf(config)]),
  ),
  "a critic's loss": criticOf(tiny),
  cloning,
};

/** One layer has every derivative that several have. */
const shallow: DecoderConfig = { ...tiny, layers: 1 };
const shallowNetworks: Readonly<Record<string, () => Differentiable>> = {
  "log-probabilities and entropies": policyOf(shallow),
  "a critic's loss": criticOf(shallow),
};

/** Losses whose gradient is the derivative of their value. Straight-through forms and stopped gradients are left out: theirs differs on purpose. */
const losses: Readonly<Record<string, () => Differentiable>> = {
  ppo: lossOf(lossOptions("ppo")),
  geo_mean: lossOf(lossOptions("geo_mean")),
  gpg: lossOf(lossOptions("gpg")),
  k1: lossOf(kl("k1")),
  abs: lossOf(kl("abs")),
  k2: lossOf(kl("k2")),
  k3: lossOf(kl("k3")),
};

/** An operation of the tensor language on inputs of these sizes; above zero where it needs that. */
interface Operation {
  readonly shapes: ReadonlyArray<readonly number[]>;
  readonly build: (...inputs: Tensor[]) => Tensor;
  readonly positive?: boolean;
}

const one = (build: (x: Tensor) => Tensor, positive = false): Operation => ({ shapes: [[4, 6]], build, positive });
const two = (build: (x: Tensor, y: Tensor) => Tensor, positive = false): Operation => ({
  shapes: [[4, 6], [6]],
  build,
  positive,
});
const indices = (graph: Graph, ids: readonly number[]): Tensor => graph.constant(ids, "int64");

const operations: Readonly<Record<string, Operation>> = {
  add: two(add),
  sub: two(sub),
  mul: two(mul),
  div: two(div, true),
  minimum: two(minimum),
  maximum: two(maximum),
  clip: one((x) => clip(x, -0.5, 0.7)),
  neg: one(neg),
  exp: one(exp),
  log: one(log, true),
  sqrt: one(sqrt, true),
  reciprocal: one(reciprocal, true),
  abs: one(abs),
  sigmoid: one(sigmoid),
  tanh: one(tanh),
  silu: one(silu),
  where: two((x, y) => where(less(x, 0.2), x, y)),
  gather: { shapes: [[9, 5]], build: (x) => gather(x, indices(x.graph, [3, 0, 3, 8])) },
  "gather from a long table": { shapes: [[1100, 2]], build: (x) => gather(x, indices(x.graph, [3, 0, 3, 1099])) },
  takeAlong: one((x) => takeAlong(x, indices(x.graph, [1, 5, 0, 1]))),
  segmentSum: { shapes: [[5]], build: (x) => segmentSum(x, indices(x.graph, [0, 2, 2, 0, 1]), 4) },
  reshape: one((x) => reshape(x, [3, 8])),
  transpose: one((x) => transpose(x, [1, 0])),
  expand: { shapes: [[4, 1]], build: (x) => expand(x, [2, 4, 3]) },
  reduceSum: one((x) => reduceSum(x, [0])),
  slice: one((x) => slice(x, 1, 2, 5)),
  pad: one((x) => pad(x, 1, 1, 2)),
  concat: {
    shapes: [
      [2, 3],
      [4, 3],
    ],
    build: (x, y) => concat([x, y], 0),
  },
  reduceMean: one((x) => reduceMean(x, [1])),
  reduceSumSquare: one((x) => reduceSumSquare(x, [1], true)),
  reduceMax: one((x) => reduceMax(x, [1])),
  softmax: one(softmax),
  logSoftmax: one(logSoftmax),
  gemm: { shapes: [[4, 3], [3, 5], [5]], build: (x, y, bias) => gemm(x, y, { bias }) },
  "gemm, transposed": {
    shapes: [
      [3, 4],
      [5, 3],
    ],
    build: (x, y) => gemm(x, y, { transA: true, transB: true }),
  },
  matmul: {
    shapes: [
      [2, 3, 4, 3],
      [2, 1, 3, 5],
    ],
    build: (x, y) => matmul(x, y, { scale: 0.5 }),
  },
  "matmul, transposed": {
    shapes: [
      [1, 3, 4],
      [2, 5, 3],
    ],
    build: (x, y) => matmul(x, y, { transA: true, transB: true }),
  },
  rmsNorm: { shapes: [[4, 6], [6]], build: (x, weight) => rmsNorm(x, weight, 1e-6) },
  rotary: {
    shapes: [[2, 3, 8]],
    build: (x) => rotary(x, indices(x.graph, [1]), rotaryTables(x.graph, 6, Float64Array.of(1, 0.3))),
  },
  causalAttention: {
    shapes: [
      [2, 2, 2, 5, 4],
      [2, 2, 5, 4],
      [2, 2, 5, 4],
    ],
    build: (q, k, v) => causalAttention(q, k, v, { blocks: 2, recompute: true }),
  },
};

const ofOperation =
  ({ build, positive = false, shapes }: Operation) =>
  (): Differentiable => {
    const graph = new Graph("operation");
    const inputs = shapes.map((shape, i) => graph.input(`x${i}`, "float32", shape));
    const result = build(...inputs.map((x) => (positive ? add(mul(x, x), 0.5) : x)));
    const weights = Float32Array.from({ length: 512 }, (_, i) => Math.sin(3 * i + 1));
    const size = result.shape.reduce<number>((total, dim) => total * Number(dim), 1);
    const weighed = graph.constant(weights.slice(0, size), "float32", result.shape.map(Number));
    return { graph, loss: reduceSum(mul(result, weighed)), by: [...graph.inputs.keys()] };
  };

const wrongs: Readonly<Record<string, Wrong>> = {
  "1 % too large": (gradient) => mul(gradient, 1.01),
  absent: () => undefined,
};

/** The derivatives that a comparison with tfjs's gradients does not notice to be wrong. */
const unseen = async (make: () => Differentiable, feeds: Feeds, expected: Gradients): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const derivative of derivativesOf(make()))
    for (const [how, wrong] of Object.entries(wrongs)) {
      const differentiable = make();
      breakDerivative(differentiable, derivative, wrong);
      const far = distance(await ours(backwardModel(differentiable), differentiable.by, feeds), expected);
      if (far < SEEN) found.push(`${derivative.type} by its input ${derivative.input} ${how}`);
    }
  return found;
};

/** Feeds of a case, and tfjs's gradients at them, which must not be 0. */
const pointOf = (
  make: () => Differentiable,
  config = tiny,
): { readonly feeds: Feeds; readonly expected: Gradients } => {
  const feeds = feedsOf(make().graph.toModel(), config);
  const expected = tfjsGradients(make(), feeds);
  for (const [input, values] of expected)
    expect(
      values.some((value) => value !== 0),
      input,
    ).toBe(true);
  return { feeds, expected };
};

const expectAgreement = async (make: () => Differentiable, feeds: Feeds, expected: Gradients): Promise<void> => {
  const differentiable = make();
  expect(distance(await ours(backwardModel(differentiable), differentiable.by, feeds), expected)).toBeLessThan(NOISE);
};

/** Derivatives that no gradient ever passes through, right or wrong: a clipped form that is chosen is a constant. */
const idle: Readonly<Record<string, readonly string[]>> = {
  "a critic's loss": ["Max by its input 1", "Min by its input 0"],
  ppo: ["Max by its input 1"],
  geo_mean: ["Max by its input 1", "Min by its input 1"],
  k1: ["Max by its input 1"],
  abs: ["Max by its input 1"],
  k2: ["Max by its input 1"],
  k3: ["Max by its input 1"],
};
const idleOf = (name: string): readonly string[] =>
  (idle[name] ?? []).flatMap((way) => Object.keys(wrongs).map((how) => `${way} ${how}`));

beforeAll(() => {
  tf.env().set("IS_TEST", true);
  return tf.setBackend("cpu");
});

describe("our gradients against tfjs's own of the same forward pass agree", () => {
  for (const [name, make] of Object.entries({ ...networks, ...losses }))
    it(`for ${name}`, async () => {
      const config = decoders.find(([family]) => name.endsWith(` of ${family}`))?.[1];
      const { expected, feeds } = pointOf(make, config);
      await expectAgreement(make, feeds, expected);
    });

  for (const [name, operation] of Object.entries(operations))
    it(`for ${name}`, async () => {
      const make = ofOperation(operation);
      const { expected, feeds } = pointOf(make);
      await expectAgreement(make, feeds, expected);
    });
});

describe("a comparison with tfjs's gradients shows what is broken on purpose:", () => {
  for (const [name, make] of Object.entries({ ...shallowNetworks, ...losses }))
    it(`every derivative on the way of ${name}`, async () => {
      const { expected, feeds } = pointOf(make);
      expect((await unseen(make, feeds, expected)).toSorted()).toEqual(idleOf(name).toSorted());
    });

  it("every derivative of every operation alone", async () => {
    const found: string[] = [];
    for (const [name, operation] of Object.entries(operations)) {
      const make = ofOperation(operation);
      const { expected, feeds } = pointOf(make);
      found.push(...(await unseen(make, feeds, expected)).map((what) => `${name}: ${what}`));
    }
    expect(found).toEqual([]);
  });

  it("every term that the backward pass of a network leaves out", async () => {
    const make = policyOf(shallow);
    const { expected, feeds } = pointOf(make);
    const mutants = withoutOneTerm(make);
    expect(mutants.length).toBeGreaterThan(40);
    const missed: string[] = [];
    for (const { model, name } of mutants)
      if (distance(await ours(model, make().by, feeds), expected) < SEEN) missed.push(name);
    expect(missed).toEqual([]);
  });
});
