import { describe, expect, it } from "vitest";
import { weightFeeds } from "../../../src/learner/lanes/Lane.ts";
import { Lanes } from "../../../src/learner/lanes/Lanes.ts";
import { Trainer } from "../../../src/learner/Trainer.ts";
import { ADAPTER_SCALE } from "../../../src/model/graphs/Lora.ts";
import { parametersOf } from "../../../src/model/graphs/Parameters.ts";
import { liveSessions } from "../../../src/model/runtime/Session.ts";
import { liveThreads } from "../../../src/model/runtime/Thread.ts";
import { add, mul } from "../../../src/model/tensor/Elementwise.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import type { OnnxModel } from "../../../src/model/tensor/Onnx.ts";
import { creditedBatch } from "../../build/batches.ts";
import { tiny, tinyParameters, trainerOptions } from "../model.ts";

const refused: OnnxModel = {
  name: "refused",
  opsets: { "": 21 },
  nodes: [{ type: "NoSuchOperator", domain: "", name: "node", inputs: ["x"], outputs: ["y"], attributes: {} }],
  constants: [],
  values: [],
  boundSymbols: [],
  inputs: [{ name: "x", dtype: "float32", shape: [1] }],
  outputs: [{ name: "y", dtype: "float32", shape: [1] }],
};

describe("lanes", () => {
  /** Three micro-batches or more in most mini-batches. */
  const actor = { ...trainerOptions.actor, micro_batch_tokens: 32 };
  /** Two updates by a trainer with `lanes` of which each update uses as many as `used` has for it. */
  const updated = async (lanes: number, used: readonly [number, number] = [lanes, lanes]) => {
    await using trainer = await Trainer.open(tiny, tinyParameters(), { ...trainerOptions, actor, lanes });
    const shape = { lengths: [20, 31, 9, 17, 24, 12, 28, 11, 30], vocabulary: tiny.vocabSize };
    const reports = [];
    for (const [window, count] of used.entries()) {
      trainer.networks.lanes.setUsed(count);
      const batch = creditedBatch({ ...shape, seed: window, window });
      const { metrics } = await trainer.update({ ...batch, values: await trainer.values(batch) });
      reports.push(metrics);
    }
    const bits = [trainer.networks.actor, trainer.networks.critic].flatMap((network) =>
      network === undefined ? [] : [Buffer.from(network.parameters.flat.buffer).toString("base64")],
    );
    return { bits, reports };
  };

  it("give the same bits of the parameters and the same report whatever their number", async () => {
    const one = await updated(1);
    expect(one.bits).toHaveLength(2);
    for (const lanes of [2, 3]) expect(await updated(lanes)).toEqual(one);
  });

  it("give the same bits however the number of those in use changes between updates", async () => {
    const one = await updated(1);
    for (const used of [
      [1, 1],
      [2, 1],
      [1, 2],
      [1, 3],
    ] as const)
      expect(await updated(3, used)).toEqual(one);
  });

  it("refuse a number that was not opened, and go on with those in use", async () => {
    await using trainer = await Trainer.open(tiny, tinyParameters(), { ...trainerOptions, actor, lanes: 2 });
    expect(() => trainer.networks.lanes.setUsed(3)).toThrow("3 lanes cannot be used; nearest: 2");
    expect(() => trainer.networks.lanes.setUsed(0)).toThrow("0 lanes cannot be used; nearest: 1");
    const batch = creditedBatch({ seed: 1, lengths: [20, 31, 9], vocabulary: tiny.vocabSize });
    expect((await trainer.update(batch)).applied).toBe(true);
  });

  it("serve the next pass after one that a session refused", async () => {
    await using trainer = await Trainer.open(tiny, tinyParameters(), { ...trainerOptions, actor, lanes: 2 });
    const batch = creditedBatch({ seed: 1, lengths: [20, 31, 9, 17, 24], vocabulary: tiny.vocabSize });
    const before = await trainer.logp(batch);
    await expect(trainer.logp({ ...batch, ids: batch.ids.map(() => tiny.vocabSize + 1) })).rejects.toThrow();
    expect(await trainer.logp(batch)).toEqual(before);
  });

  it("read frozen weights beside those of the pass, in every thread and pass", async () => {
    const graph = new Graph("frozen");
    const [base, adapter] = ["base", "adapter"].map((name) => ({ name, shape: [2] }));
    const [a, b, x] = ["base", "adapter", "x"].map((name) => graph.input(name, "float32", [2]));
    graph.output("y", add(mul(a!, x!), mul(b!, graph.input(ADAPTER_SCALE, "float32", []))));
    await using lanes = await Lanes.open(2, 1);
    const pass = await lanes.pass({ model: graph.toModel(), trained: [], sums: [], rows: ["y"] });
    const frozen = parametersOf([base!], Float32Array.of(10, 20));
    const parameters = parametersOf([adapter!], Float32Array.of(1, 2));
    const shared = { frozen, scale: 1 };
    const feeds = weightFeeds(parameters, shared);
    const micros = [1, 2, 3, 4].map((value) => ({ x: { data: Float32Array.of(value, value), dims: [2] } }));
    for (const moved of [0, 5]) {
      parameters.flat.set([1 + moved, 2 + moved]);
      const { rows } = await pass.run({ parameters, base: shared, feeds }, micros);
      expect(rows.map(({ y }) => [...y])).toEqual([1, 2, 3, 4].map((v) => [10 * v + 1 + moved, 20 * v + 2 + moved]));
    }
  });

  it("leave no session and no thread", async () => {
    const before = [liveSessions(), liveThreads()];
    await updated(2);
    expect([liveSessions(), liveThreads()]).toEqual(before);
  });

  it("refuse a model that the runtime refuses, naming no lane that is left open", async () => {
    const before = liveThreads();
    const lanes = await Lanes.open(2, 1);
    await expect(lanes.pass({ model: refused, trained: [], sums: [], rows: [] })).rejects.toThrow();
    await lanes[Symbol.asyncDispose]();
    expect(liveThreads()).toBe(before);
  });
});
