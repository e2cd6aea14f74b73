/** Recomputed results have the values and gradients of kept ones, in a model that does compute them again. */
import { describe, expect, it } from "vitest";
import { actorModel } from "../../../src/learner/models.ts";
import type { Recompute } from "../../../src/model/graphs/Decoder.ts";
import { mul, sigmoid, tanh } from "../../../src/model/tensor/Elementwise.ts";
import { gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../../src/model/tensor/Layout.ts";
import { gemm } from "../../../src/model/tensor/Linear.ts";
import { withRecompute } from "../../../src/model/tensor/Recompute.ts";
import { tiny } from "../../learner/model.ts";
import { draws } from "../tiny.ts";
import { float32, runOnce } from "./session.ts";

const random = draws(5);
const normal = (...dims: number[]) =>
  float32(
    dims,
    Array.from({ length: dims.reduce((a, b) => a * b) }, () => random.normal()),
  );
const feeds = { x: normal(3, 4), first: normal(4, 4), second: normal(4, 4) };

const build = (recompute: boolean) => {
  const graph = new Graph();
  const x = graph.input("x", "float32", ["rows", 4]);
  const weights = ["first", "second"].map((name) => graph.input(name, "float32", [4, 4]));
  const block = (weight: Tensor) => (input: Tensor) => mul(sigmoid(gemm(input, weight)), tanh(input));
  const y = weights.reduce((at, weight) => (recompute ? withRecompute(at, block(weight)) : block(weight)(at)), x);
  const loss = reduceSum(mul(y, y));
  graph.output("loss", loss);
  gradients(loss, [x, ...weights]).forEach((gradient, i) => {
    graph.output(`gradient ${i}`, gradient);
  });
  return graph.toModel();
};

const count = (model: ReturnType<typeof build>, type: string) =>
  model.nodes.filter((node) => node.type === type).length;

describe("recomputed results", () => {
  it("have the value and the gradients of kept ones, bit for bit", async () => {
    expect(await runOnce(build(true), feeds)).toEqual(await runOnce(build(false), feeds));
  });

  it("are computed twice", () => {
    expect(count(build(true), "Tanh")).toBe(2 * count(build(false), "Tanh"));
  });

  it("are each layer's, or each layer's attention, in the actor's model", () => {
    const options = {
      loss: "ppo",
      clip: { low: 0.2, high: 0.2, dual: 0 },
      entropyCoefficient: 0,
      kl: undefined,
    } as const;
    const nodes = (type: string, recompute: Recompute) =>
      actorModel({ ...tiny, layers: 3 }, options, undefined, { targets: 64, recompute, shared: false }).nodes.filter(
        (node) => node.type === type,
      ).length;
    // Forward and backward, of queries and keys; then forward again.
    const turned = (recompute: Recompute) => nodes("RotaryEmbedding", recompute);
    expect([turned("nothing"), turned("attention"), turned("layers")]).toEqual([12, 12, 18]);
    // A softmax for each of four blocks of a layer.
    const weighed = (recompute: Recompute) => nodes("Softmax", recompute);
    expect([weighed("nothing"), weighed("attention"), weighed("layers")]).toEqual([12, 24, 24]);
  });
});
