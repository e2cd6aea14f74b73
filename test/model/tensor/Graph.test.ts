import { describe, expect, it } from "vitest";
import { causalAttention } from "../../../src/model/tensor/Attention.ts";
import { add, cast, exp, mul, neg } from "../../../src/model/tensor/Elementwise.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { cachePlaces, gather, iota, takeAlong, writeRows } from "../../../src/model/tensor/Indexing.ts";
import { concat, expand, reduceSum, reshape, slice, transpose } from "../../../src/model/tensor/Layout.ts";
import { gemm, matmul } from "../../../src/model/tensor/Linear.ts";
import { encode } from "../../../src/model/tensor/Onnx.ts";
import { ShapeError } from "../../../src/model/tensor/Shape.ts";
import { rmsNorm } from "../../../src/model/tensor/Transformer.ts";
import { float32, int64, runOnce } from "./session.ts";

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe("symbolic sizes", () => {
  it("are resolved at run time from the inputs that carry them", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["batch*time", 4]);
    graph.input("ids", "int64", ["batch", "time"]);
    const split = transpose(reshape(x, ["batch", "time", 2, 2]), [0, 2, 1, 3]);
    graph.output("split", split);
    graph.output("joined", reshape(transpose(split, [0, 2, 1, 3]), ["time*batch", -1]));
    graph.output("columns", expand(iota(graph, "time", "float32"), ["batch", "time"]));
    graph.output("count", cast(graph.size("2*batch*time-time+1"), "float32"));
    const results = await runOnce(graph.toModel(), { x: float32([6, 4], range(24)), ids: int64([2, 3], range(6)) });
    expect([...results.split!.subarray(0, 12)]).toEqual([0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]);
    expect([...results.joined!]).toEqual(range(24));
    expect([...results.columns!]).toEqual([0, 1, 2, 0, 1, 2]);
    expect([...results.count!]).toEqual([10]);
  });

  it("can be bound to computed values", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["time"]);
    graph.bind("keep", cast(reshape(graph.input("keep", "int64", [1]), [1]), "int64"));
    graph.output("head", slice(x, 0, 0, "keep"));
    graph.output("joined", concat([slice(x, 0, "keep", "time"), slice(x, 0, 0, "keep")], 0));
    const results = await runOnce(graph.toModel(), { x: float32([5], range(5)), keep: int64([1], [2]) });
    expect([...results.head!]).toEqual([0, 1]);
    expect([...results.joined!]).toEqual([2, 3, 4, 0, 1]);
  });

  it("are refused when nothing carries them", () => {
    const graph = new Graph();
    expect(() => iota(graph, "time")).toThrow('no input carries the symbol "time"');
  });
});

describe("shape errors name the operation and the shapes", () => {
  const graph = new Graph();
  const x = graph.input("x", "float32", ["batch", 4]);
  const y = graph.input("y", "float32", [3, 5]);
  const ids = graph.input("ids", "int64", ["batch"]);
  it.each([
    ["add", () => add(x, y), "Add([batch, 4], [3, 5]): sizes batch and 3 do not broadcast"],
    ["types", () => add(x, cast(x, "int64")), "Add([batch, 4], [batch, 4]): types differ: float32, int64"],
    ["reshape", () => reshape(x, ["batch", 2]), "reshape([batch, 4], [batch, 2]): element counts differ"],
    ["reshape rest", () => reshape(x, ["time", -1]), "the size -1 does not come out"],
    ["transpose", () => transpose(x, [0, 0]), "transpose([batch, 4]): [0, 0] is not an order of its axes"],
    ["axis", () => reduceSum(x, [2]), "reduceSum([batch, 4]): axis 2 is outside rank 2"],
    ["gemm", () => gemm(x, y), "gemm([batch, 4], [3, 5]): inner sizes 4 and 3 differ"],
    ["matmul", () => matmul(x, y), "matmul([batch, 4], [3, 5]): inner sizes 4 and 3 differ"],
    ["concat", () => concat([x, y], 1), "concat([batch, 4], [3, 5]): sizes differ off axis 1"],
    ["gather", () => gather(ids, ids), "gather([batch], [batch]): the table must be [rows, width]"],
    ["takeAlong", () => takeAlong(y, ids), "takeAlong([3, 5], [batch]): indices must be x without its last axis"],
    ["writeRows", () => writeRows(x, y, ids), "writeRows([batch, 4], [3, 5], [batch])"],
    ["cachePlaces", () => cachePlaces(x, 2, 3), "cachePlaces([batch, 4])"],
    ["rmsNorm", () => rmsNorm(x, ids, 1e-6), "rmsNorm([batch, 4], [batch])"],
    ["attention", () => causalAttention(x, x, x), "causalAttention([batch, 4], [batch, 4], [batch, 4])"],
    ["input", () => graph.input("x", "float32", []), '"x" is already an input'],
    ["output", () => graph.output("x", y), '"x" is already an input'],
    ["foreign", () => add(x, new Graph().input("z", "float32", [4])), "the tensor belongs to another graph"],
  ])("%s", (_, build, message) => {
    expect(build).toThrow(ShapeError);
    expect(build).toThrow(message);
  });
});

describe("toModel", () => {
  it("leaves out what no output needs", () => {
    const size = (unused: boolean): number => {
      const graph = new Graph();
      const x = graph.input("x", "float32", [4]);
      graph.output("y", exp(x));
      if (unused) gemm(reshape(neg(x), [2, 2]), graph.constant(range(4), "float32", [2, 2]));
      return encode(graph.toModel()).length;
    };
    expect(size(true)).toBe(size(false));
  });

  it("computes equal expressions once", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["batch", 4]);
    expect(mul(exp(x), 2)).toBe(mul(exp(x), 2));
    expect(reshape(x, [-1])).toBe(reshape(x, ["4*batch"]));
  });

  it("names one tensor as often as asked, inputs included", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", [2]);
    const y = neg(x);
    graph.output("first", y);
    graph.output("second", y);
    graph.output("same", x);
    graph.output("after", exp(y));
    const results = await runOnce(graph.toModel(), { x: float32([2], [0, 1]) });
    expect([...results.first!]).toEqual([-0, -1]);
    expect(results.second).toEqual(results.first);
    expect([...results.same!]).toEqual([0, 1]);
    expect(results.after![1]).toBeCloseTo(Math.exp(-1), 6);
  });
});

describe("writeRows", () => {
  it("writes each entry's rows from its start, in all of its heads", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["batch", 2, "capacity", 1]);
    const rows = graph.input("rows", "float32", ["batch", 2, "time", 1]);
    const places = cachePlaces(graph.input("starts", "int64", ["batch"]), 2, "time");
    graph.output("y", writeRows(x, rows, places));
    const { y } = await runOnce(graph.toModel(), {
      x: float32([2, 2, 3, 1], range(12)),
      rows: float32([2, 2, 2, 1], [20, 21, 22, 23, 24, 25, 26, 27]),
      starts: int64([2], [1, 0]),
    });
    expect([...y!]).toEqual([0, 20, 21, 3, 22, 23, 24, 25, 8, 26, 27, 11]);
  });
});
