/** The memory that a model's run takes, on graphs whose bytes can be counted by hand. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { actorModel } from "../../../src/learner/models.ts";
import { stepModel } from "../../../src/model/graphs/Decode.ts";
import { blockEnds } from "../../../src/model/tensor/Attention.ts";
import { add, exp, mul } from "../../../src/model/tensor/Elementwise.ts";
import { executionOrder } from "../../../src/model/tensor/ExecutionOrder.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { iota } from "../../../src/model/tensor/Indexing.ts";
import { expand, reshape } from "../../../src/model/tensor/Layout.ts";
import { gemm, matmul } from "../../../src/model/tensor/Linear.ts";
import { liveness } from "../../../src/model/tensor/Liveness.ts";
import { tiny } from "../../learner/model.ts";
import { assertProperty } from "../../property.ts";

/** exp(x) x, and the product of that with a constant matrix: x [rows, 4]. */
const small = () => {
  const graph = new Graph("small");
  const x = graph.input("x", "float32", ["rows", 4]);
  const weights = graph.input("weights", "float32", [4, 2]);
  graph.output("y", gemm(mul(exp(x), x), weights));
  return graph.toModel();
};

describe("the bytes alive", () => {
  it("are those of the values between the node that makes each and the last that reads it", () => {
    const found = liveness(small(), { rows: 3 });
    // exp [3, 4]; the product beside it; the result [3, 2] beside that. Inputs are not the run's.
    expect(found.alive).toEqual([48, 96, 72]);
    expect(found.peak).toBe(96);
    expect(found.atPeak.map(({ bytes, type }) => [type, bytes])).toEqual([
      ["Exp", 48],
      ["Mul", 48],
    ]);
    expect(found.outputs).toBe(24);
  });

  it("count a value under another shape once", () => {
    const graph = new Graph("renamed");
    const x = graph.input("x", "float32", ["rows", 4]);
    const exponential = exp(x);
    graph.output("y", add(reshape(exponential, ["rows", 2, 2]), 1));
    // Beside exp and the sum, the shape itself, int64 [3], which is computed first, and the size of the rows in it.
    const found = liveness(graph.toModel(), { rows: 5 });
    expect(found.peak).toBe(2 * 80);
  });

  it("hold outputs to the end", () => {
    const graph = new Graph("outputs");
    const x = graph.input("x", "float32", [10]);
    const first = exp(x);
    graph.output("first", first);
    graph.output("second", exp(exp(first)));
    expect(liveness(graph.toModel(), {}).alive).toEqual([40, 80, 120]);
  });

  it("know the types' widths", () => {
    const graph = new Graph("types");
    graph.input("x", "float32", ["rows"]);
    graph.output("columns", expand(reshape(iota(graph, "rows"), ["rows", 1]), ["rows", 3]));
    const found = liveness(graph.toModel(), { rows: 4 });
    expect(found.outputs).toBe(4 * 3 * 8);
  });

  it("compute sizes that are bound to a computed value", () => {
    const graph = new Graph("bound");
    const x = graph.input("x", "float32", ["time", 2]);
    const [half] = blockEnds(graph, "time", 2);
    graph.output("y", expand(reshape(iota(graph, half!, "float32"), [half!, 1]), [half!, 2]));
    graph.output("z", exp(x));
    expect(liveness(graph.toModel(), { time: 7 }).outputs).toBe(3 * 2 * 4 + 7 * 2 * 4);
  });

  it("name a size that is missing", () => {
    expect(() => liveness(small(), {})).toThrow('the size "rows" is not given');
  });
});

describe("operations", () => {
  it("are two for each multiplication of a matrix product", () => {
    expect(liveness(small(), { rows: 3 }).flops).toBe(2 * 3 * 4 * 2);
    const graph = new Graph("stack");
    const a = graph.input("a", "float32", ["batch", 5, 3]);
    const b = graph.input("b", "float32", ["batch", 5, 7]);
    graph.output("y", matmul(a, b, { transA: true }));
    expect(liveness(graph.toModel(), { batch: 2 }).flops).toBe(2 * 2 * 3 * 7 * 5);
  });
});

describe("the order of execution", () => {
  it("begins with what the last result needs, and never runs a node before one that it reads", () => {
    const graph = new Graph("order");
    const x = graph.input("x", "float32", [2]);
    graph.output("early", exp(x));
    graph.output("late", mul(x, 3));
    expect(executionOrder(graph.toModel())).toEqual([1, 0]);
    const { nodes } = actorModel(tiny, {
      loss: "ppo",
      clip: { low: 0.2, high: 0.2, dual: 0 },
      entropyCoefficient: 0.1,
      kl: undefined,
    });
    const computed = new Set<string>();
    const makers = new Set(nodes.flatMap(({ outputs }) => outputs));
    for (const at of executionOrder({ nodes })) {
      const node = nodes[at]!;
      expect(node.inputs.filter((name) => makers.has(name) && !computed.has(name))).toEqual([]);
      for (const name of node.outputs) computed.add(name);
    }
    expect(computed).toEqual(makers);
  });
});

describe("of a decoder", () => {
  const actor = actorModel(tiny, {
    loss: "ppo",
    clip: { low: 0.2, high: 0.2, dual: 0 },
    entropyCoefficient: 0.1,
    kl: undefined,
  });

  it("more tokens never take less", () => {
    const size = fc.integer({ min: 4, max: 40 });
    assertProperty(
      fc.property(size, size, fc.integer({ min: 1, max: 64 }), fc.nat(16), (batch, time, targets, more) => {
        const { peak } = liveness(actor, { batch, time, targets });
        expect(liveness(actor, { batch: batch + more, time, targets }).peak).toBeGreaterThanOrEqual(peak);
        expect(liveness(actor, { batch, time: time + more, targets }).peak).toBeGreaterThanOrEqual(peak);
        expect(liveness(actor, { batch, time, targets: targets + more }).peak).toBeGreaterThanOrEqual(peak);
      }),
      { numRuns: 15 },
    );
  });

  it("a longer cache never takes a step less", () => {
    const step = stepModel(tiny);
    assertProperty(
      fc.property(
        fc.integer({ min: 2, max: 64 }),
        fc.integer({ min: 1, max: 512 }),
        fc.nat(64),
        (batch, capacity, more) => {
          const { peak } = liveness(step, { batch, capacity });
          expect(liveness(step, { batch, capacity: capacity + more }).peak).toBeGreaterThanOrEqual(peak);
        },
      ),
    );
  });
});
