import { describe, expect, it } from "vitest";
import { float32, liveSessions, Session } from "../../../src/model/runtime/Session.ts";
import { add, mul } from "../../../src/model/tensor/Elementwise.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import type { OnnxModel } from "../../../src/model/tensor/Onnx.ts";

const model = (): OnnxModel => {
  const graph = new Graph("affine");
  const x = graph.input("x", "float32", ["n"]);
  const scale = graph.input("scale", "float32", []);
  graph.output("scaled", mul(x, scale));
  graph.output("shifted", add(x, scale));
  return graph.toModel();
};

const withUnknownOperator = (): OnnxModel => {
  const graph = new Graph("unknown");
  const x = graph.input("x", "float32", ["n"]);
  graph.output("y", graph.result({ type: "NoSuchOperator", inputs: [x], outputs: [x] }));
  return graph.toModel();
};

describe("Session", () => {
  it("runs a model on views of larger arrays", async () => {
    await using session = await Session.open(model());
    expect(session.inputs).toEqual(["x", "scale"]);
    const memory = Float32Array.of(9, 1, 2, 3, 9);
    using outputs = await session.run({
      x: float32(memory.subarray(1, 4), [3]),
      scale: float32(Float32Array.of(10), []),
    });
    expect(outputs.float32("scaled")).toEqual(Float32Array.of(10, 20, 30));
    expect(outputs.float32("shifted")).toEqual(Float32Array.of(11, 12, 13));
    expect(outputs.dims("scaled")).toEqual([3]);
  });

  it("computes only the outputs asked for", async () => {
    await using session = await Session.open(model());
    const feeds = { x: float32(Float32Array.of(1), [1]), scale: float32(Float32Array.of(2), []) };
    const outputs = await session.run(feeds, ["shifted"]);
    expect(outputs.names).toEqual(["shifted"]);
    expect(() => outputs.float32("scaled")).toThrow(TypeError);
    expect(() => outputs.int64("shifted")).toThrow(TypeError);
  });

  it("counts the sessions that are open", async () => {
    const before = liveSessions();
    const session = await Session.open(model());
    expect(liveSessions()).toBe(before + 1);
    await session.close();
    await session.close();
    expect(liveSessions()).toBe(before);
  });

  it("refuses a model with an operator it does not know, and counts nothing", async () => {
    const before = liveSessions();
    await expect(Session.open(withUnknownOperator())).rejects.toThrow();
    expect(liveSessions()).toBe(before);
  });
});
