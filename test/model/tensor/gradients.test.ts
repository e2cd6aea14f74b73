import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { causalAttention, sharedAttention } from "../../../src/model/tensor/Attention.ts";
import * as Elementwise from "../../../src/model/tensor/Elementwise.ts";
import { backward, gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../../../src/model/tensor/Graph.ts";
import { elementsAt, gather, segmentSum, takeAlong } from "../../../src/model/tensor/Indexing.ts";
import { concat, expand, pad, reduceSum, reshape, slice, sumTo, transpose } from "../../../src/model/tensor/Layout.ts";
import { gemm, matmul } from "../../../src/model/tensor/Linear.ts";
import { logSoftmax, reduceMax, reduceMean, reduceSumSquare, softmax } from "../../../src/model/tensor/Reduction.ts";
import { rmsNorm, rotary, rotaryTables } from "../../../src/model/tensor/Transformer.ts";
import { assertProperty } from "../../property.ts";
import { type Check, checkGradients } from "./gradientCheck.ts";
import { int64, runOnce } from "./session.ts";

const { add, sub, mul, div, minimum, maximum, where, clip } = Elementwise;

/** A check for sizes a, b, c. */
type Case = (a: number, b: number, c: number) => Check;

const unary =
  (build: (x: Tensor) => Tensor, positive = false): Case =>
  (a, b) => ({ shapes: [[a, b]], build, positive });
const binary =
  (build: (x: Tensor, y: Tensor) => Tensor, positive = false): Case =>
  (a, b) => ({
    shapes: [
      [a, b],
      [a, b],
    ],
    build,
    positive,
  });

const ids = (count: number, size: number) =>
  int64(
    [count],
    Array.from({ length: count }, (_, i) => (i * 7 + 1) % size),
  );
const input = (x: Tensor, name: string): Tensor => x.graph.inputs.get(name)!;

const cases: Record<string, Case> = {
  add: binary(add),
  sub: binary(sub),
  mul: binary(mul),
  div: binary(div, true),
  "mul by itself": unary((x) => mul(x, x)),
  "sub from a number": unary((x) => sub(2, x)),
  "div of a number": unary((x) => div(3, x), true),
  minimum: binary(minimum),
  maximum: binary(maximum),
  "minimum with a number": unary((x) => minimum(x, 0.1)),
  clip: unary((x) => clip(x, -0.3, 0.6)),
  neg: unary(Elementwise.neg),
  exp: unary(Elementwise.exp),
  log: unary(Elementwise.log, true),
  sqrt: unary(Elementwise.sqrt, true),
  rsqrt: unary(Elementwise.rsqrt, true),
  reciprocal: unary(Elementwise.reciprocal, true),
  square: unary(Elementwise.square),
  abs: unary(Elementwise.abs),
  sigmoid: unary(Elementwise.sigmoid),
  tanh: unary(Elementwise.tanh),
  silu: unary(Elementwise.silu),
  where: binary((x, y) => where(Elementwise.greater(x, 0), mul(x, y), y)),
  "broadcast over rows": (a, b) => ({ shapes: [[a, b], [b]], build: mul }),
  "broadcast over columns": (a, b) => ({
    shapes: [
      [a, b],
      [a, 1],
    ],
    build: mul,
  }),
  "broadcast of both": (a, b, c) => ({
    shapes: [
      [a, 1, b],
      [c, 1],
    ],
    build: mul,
  }),
  "broadcast of a scalar": (a, b) => ({ shapes: [[a, b], []], build: mul }),
  "div of broadcast": (a, b) => ({ shapes: [[b], [a, b]], build: div, positive: true }),
  "minimum of broadcast": (a, b) => ({ shapes: [[a, 1], [b]], build: minimum }),
  "where of broadcast": (a, b) => ({
    shapes: [[a, 1], [b]],
    build: (x, y) => where(Elementwise.less(x, y), Elementwise.square(x), y),
  }),
  reshape: (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => reshape(x, [c, a * b]) }),
  transpose: (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => transpose(x, [2, 0, 1]) }),
  "transpose twice": (a, b, c) => ({
    shapes: [[a, b, c]],
    build: (x) => transpose(transpose(x, [2, 0, 1]), [0, 2, 1]),
  }),
  expand: (a, b, c) => ({ shapes: [[a, 1]], build: (x) => expand(x, [c, a, b]) }),
  slice: (a, b) => ({ shapes: [[a + 2, b]], build: (x) => slice(x, 0, 1, a + 1) }),
  pad: (a, b) => ({ shapes: [[a, b]], build: (x) => pad(x, 1, 2, 1) }),
  concat: (a, b, c) => ({
    shapes: [
      [a, b],
      [a, c],
    ],
    build: (x, y) => concat([x, y, x], -1),
  }),
  sumTo: (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => sumTo(x, [b, 1]) }),
  "reduceSum over all": unary((x) => reduceSum(x)),
  "reduceSum over the middle": (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => reduceSum(x, [1]) }),
  "reduceSum keeping axes": (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => reduceSum(x, [0, -1], true) }),
  reduceMean: (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => reduceMean(x, [0, 2]) }),
  reduceMax: (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => reduceMax(x, [1]) }),
  "reduceSumSquare over all": unary((x) => reduceSumSquare(x)),
  "reduceSumSquare over the middle": (a, b, c) => ({ shapes: [[a, b, c]], build: (x) => reduceSumSquare(x, [1]) }),
  softmax: unary(softmax),
  logSoftmax: unary(logSoftmax),
  gemm: (a, b, c) => ({
    shapes: [
      [a, b],
      [b, c],
    ],
    build: (x, y) => gemm(x, y),
  }),
  "gemm a'": (a, b, c) => ({
    shapes: [
      [b, a],
      [b, c],
    ],
    build: (x, y) => gemm(x, y, { transA: true }),
  }),
  "gemm b' + bias": (a, b, c) => ({
    shapes: [[a, b], [c, b], [c]],
    build: (x, y, bias) => gemm(x, y, { transB: true, bias }),
  }),
  "gemm a' b'": (a, b, c) => ({
    shapes: [
      [b, a],
      [c, b],
    ],
    build: (x, y) => gemm(x, y, { transA: true, transB: true }),
  }),
  "matmul of stacks": (a, b, c) => ({
    shapes: [
      [2, a, b],
      [2, b, c],
    ],
    build: (x, y) => matmul(x, y, { scale: 0.5 }),
  }),
  "matmul a' of broadcast stacks": (a, b, c) => ({
    shapes: [
      [2, 1, b, a],
      [3, b, c],
    ],
    build: (x, y) => matmul(x, y, { transA: true, scale: 0.5 }),
  }),
  "matmul b'": (a, b, c) => ({
    shapes: [
      [2, a, b],
      [c, b],
    ],
    build: (x, y) => matmul(x, y, { transB: true, scale: 2 }),
  }),
  "matmul a' b'": (a, b, c) => ({
    shapes: [
      [b, a],
      [2, c, b],
    ],
    build: (x, y) => matmul(x, y, { transA: true, transB: true }),
  }),
  "gather from a small table": (a, b, c) => ({
    shapes: [[a, b]],
    build: (table) => gather(table, input(table, "ids")),
    feeds: { ids: ids(c + 2, a) },
  }),
  takeAlong: (a, b) => ({
    shapes: [[a, b]],
    build: (x) => takeAlong(x, input(x, "ids")),
    feeds: { ids: ids(a, b) },
  }),
  segmentSum: (a, b) => ({
    shapes: [[a + b]],
    build: (x) => segmentSum(mul(x, x), input(x, "ids"), a),
    feeds: { ids: ids(a + b, a) },
  }),
  elementsAt: (a, b) => ({
    shapes: [[a]],
    build: (x) => elementsAt(mul(x, x), input(x, "ids")),
    feeds: { ids: ids(a + b, a) },
  }),
  // A small epsilon bends more around 0 than the step of the differences resolves.
  rmsNorm: (a, b, c) => ({ shapes: [[a, b, c], [c]], build: (x, weight) => rmsNorm(x, weight, 0.1) }),
  rotary: (a, b) => ({
    shapes: [[a, b, 8]],
    build: (x) => rotary(x, x.graph.constant([3], "int64"), rotaryTables(x.graph, 16, Float64Array.of(1, 0.1))),
  }),
  causalAttention: (a, b, c) => ({
    shapes: [
      [1, a, b, c, 2],
      [1, a, c, 2],
      [1, a, c, 2],
    ],
    build: (q, k, v) => causalAttention(q, k, v),
  }),
  "causalAttention in blocks": (_, b, c) => ({
    shapes: [
      [2, 1, b, c + 2, 2],
      [2, 1, c + 2, 2],
      [2, 1, c + 2, 2],
    ],
    build: (q, k, v) => causalAttention(q, k, v, { blocks: 3, recompute: false }),
  }),
  "causalAttention, its weights made again": (_, b, c) => ({
    shapes: [
      [2, 1, b, c + 2, 2],
      [2, 1, c + 2, 2],
      [2, 1, c + 2, 2],
    ],
    build: (q, k, v) => causalAttention(q, k, v, { blocks: 2, recompute: true }),
  }),
  sharedAttention: (a, b, c) => ({
    shapes: [
      [2, a, b, 2, c, 2],
      [2, a, b, 2, 2],
      [2, a, b, 2, 2],
      [2, c + 1, 2, 2],
      [2, c + 1, 2, 2],
    ],
    build: (q, k, v, promptKeys, promptValues) =>
      sharedAttention({ q, k, v }, { k: promptKeys, v: promptValues, lengths: input(q, "lengths") }),
    feeds: { lengths: int64([2], [c + 1, c]) },
  }),
  "sharedAttention, its weights made again": (a, b, c) => ({
    shapes: [
      [2, a, b, 1, c, 2],
      [2, a, b, 1, 2],
      [2, a, b, 1, 2],
      [2, c + 1, 1, 2],
      [2, c + 1, 1, 2],
    ],
    build: (q, k, v, promptKeys, promptValues) =>
      sharedAttention(
        { q, k, v },
        { k: promptKeys, v: promptValues, lengths: input(q, "lengths") },
        { blocks: 1, recompute: true },
      ),
    feeds: { lengths: int64([2], [c + 1, c]) },
  }),
};

describe("gradients against central differences", () => {
  const size = fc.integer({ min: 1, max: 4 });
  it.each(Object.entries(cases))("%s", (_, build) =>
    assertProperty(
      fc.asyncProperty(size, size, size, fc.nat(), (a, b, c, seed) => checkGradients(build(a, b, c), seed)),
      { numRuns: 6 },
    ),
  );
});

describe("gradients", () => {
  it("adds rows of a large table up where ids repeat", async () => {
    const graph = new Graph();
    const table = graph.input("table", "float32", [1500, 2]);
    const rows = gather(table, graph.input("ids", "int64", ["count"]));
    const weighting = graph.input("weighting", "float32", ["count", 2]);
    graph.output("gradient", gradients(reduceSum(mul(rows, weighting)), [table])[0]!);
    const { gradient } = await runOnce(graph.toModel(), {
      table: { dtype: "float32", dims: [1500, 2], data: new Float32Array(3000) },
      ids: int64([4], [1400, 3, 1400, 1400]),
      weighting: { dtype: "float32", dims: [4, 2], data: [1, 2, 30, 40, 3, 4, 5, 6] },
    });
    expect([...gradient!.subarray(2800, 2802), ...gradient!.subarray(6, 8)]).toEqual([9, 12, 30, 40]);
    expect(gradient!.reduce((sum, value) => sum + value)).toBe(91);
  });

  it("stop at stopGradient and are zero where the loss does not depend on a tensor", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["n"]);
    const unused = graph.input("unused", "float32", ["n", 2]);
    const loss = reduceSum(mul(x, Elementwise.stopGradient(Elementwise.square(x))));
    gradients(loss, [x, unused]).forEach((gradient, index) => {
      graph.output(`g${index}`, gradient);
    });
    const results = await runOnce(graph.toModel(), {
      x: { dtype: "float32", dims: [3], data: [1, 2, 3] },
      unused: { dtype: "float32", dims: [3, 2], data: [1, 1, 1, 1, 1, 1] },
    });
    expect([...results.g0!]).toEqual([1, 4, 9]);
    expect([...results.g1!]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("pass to an intermediate tensor", async () => {
    const graph = new Graph();
    const middle = Elementwise.exp(graph.input("x", "float32", [2]));
    graph.output("g", gradients(reduceSum(Elementwise.square(middle)), [middle])[0]!);
    const { g } = await runOnce(graph.toModel(), { x: { dtype: "float32", dims: [2], data: [0, Math.log(3)] } });
    expect(g![0]).toBeCloseTo(2, 5);
    expect(g![1]).toBeCloseTo(6, 5);
  });

  it("take the value of one tensor and the gradient of another straight through", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", [2]);
    const y = Elementwise.straightThrough(Elementwise.exp(x), Elementwise.square(x));
    graph.output("y", y);
    graph.output("g", gradients(reduceSum(mul(y, y)), [x])[0]!);
    const { g, y: value } = await runOnce(graph.toModel(), { x: { dtype: "float32", dims: [2], data: [0.5, -1] } });
    [0.5, -1].forEach((at, i) => {
      expect(value![i]).toBeCloseTo(Math.exp(at), 5);
      expect(g![i]).toBeCloseTo(2 * Math.exp(at) * 2 * at, 5);
    });
  });

  it("refuse a loss that is not a scalar", () => {
    const x = new Graph().input("x", "float32", ["batch"]);
    expect(() => gradients(x, [x])).toThrow("gradients([batch]): the loss must be a float32 scalar");
  });
});

describe("backward from seeds", () => {
  it("gives the gradient of a loss of which only the gradients by two results of one node's inputs are known", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["n"]);
    const [first, second] = [Elementwise.exp(x), mul(x, x)];
    const loss = reduceSum(mul(Elementwise.square(first), second));
    const seeds = gradients(loss, [first, second]).map((gradient, i) => ({
      tensor: i === 0 ? first : second,
      gradient,
    }));
    graph.output("whole", gradients(loss, [x])[0]!);
    graph.output("seeded", backward(seeds, [x])[0]!);
    const { seeded, whole } = await runOnce(graph.toModel(), {
      x: { dtype: "float32", dims: [3], data: [0.5, -1, 2] },
    });
    expect(seeded).toEqual(whole);
    expect(whole![0]).toBeCloseTo(2 * Math.E * (0.25 + 0.5), 4);
  });

  it("adds up seeds of one tensor, and is zero without any", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", [2]);
    const y = mul(x, 3);
    const seed = { tensor: y, gradient: graph.input("seed", "float32", [2]) };
    graph.output("twice", backward([seed, seed], [x])[0]!);
    graph.output("none", backward([], [x])[0]!);
    const at = { dtype: "float32", dims: [2] } as const;
    const { none, twice } = await runOnce(graph.toModel(), {
      x: { ...at, data: [1, 1] },
      seed: { ...at, data: [1, 2] },
    });
    expect([[...twice!], [...none!]]).toEqual([
      [6, 12],
      [0, 0],
    ]);
  });

  it("refuses a seed of another shape", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["n"]);
    const gradient = graph.input("gradient", "float32", ["n", 1]);
    expect(() => backward([{ tensor: x, gradient }], [x])).toThrow(
      "seed([n], [n, 1]): a seed is float32 and has the shape",
    );
  });
});
