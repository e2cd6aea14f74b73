import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Session } from "../../../../src/model/runtime/Session.ts";
import { operatorName, operatorOf } from "../../../../src/model/runtime/tfjs/operators/table.ts";
import { loadTf } from "../../../../src/model/runtime/tfjs/peer.ts";
import { readSources } from "../../../imports.ts";
import { productGraphs } from "./graphs.ts";

/** Graphs for devices that keep their tensors; they run on onnxruntime alone (the check of `model.device`). */
const ofDevices: ReadonlySet<string> = new Set([
  "decodeModel",
  "feedModel",
  "arrangeModel",
  "adamWTensorsModel",
  "deviceForm",
  "inFloat16",
  "halfForm",
]);

/** The largest difference that passes, as a share of the largest number of an output. */
const TOLERANCE = 2e-5;

const worst = (actual: Float32Array, expected: Float32Array): number => {
  expect(actual.length).toBe(expected.length);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);
  return expected.reduce((most, value, i) => Math.max(most, Math.abs(value - actual[i]!)), 0) / largest;
};

describe("the table of operators", () => {
  it("has every operator of every graph of generation and learning", () => {
    const nodes = Object.values(productGraphs).flatMap((graph) => graph().model.nodes);
    const missing = nodes.filter((node) => node.type !== "Shape" && operatorOf(node) === undefined).map(operatorName);
    expect([...new Set(missing)]).toEqual([]);
  });

  it("is held to every builder of a model that src exports", () => {
    const builders = readSources("src").flatMap(({ text }) =>
      [...text.matchAll(/^export const (\w+) = (?:(?!^export)[^;])*?\): OnnxModel =>/gm)].map(([, name = ""]) => name),
    );
    const used = readFileSync(new URL("./graphs.ts", import.meta.url), "utf8");
    expect(builders.length).toBeGreaterThan(10);
    const others = builders.filter((name) => !used.includes(`${name}(`));
    expect(others.filter((name) => !["modelOf", "withConstants"].includes(name) && !ofDevices.has(name))).toEqual([]);
  });
});

describe("a session on tfjs gives what onnxruntime gives", () => {
  for (const [name, graph] of Object.entries(productGraphs))
    it(`for ${name}`, async () => {
      const { feeds, model } = graph();
      await using onnx = await Session.open(model);
      await using tfjs = await Session.open(model, { runtime: "tfjs" });
      expect(tfjs.inputs).toEqual(onnx.inputs);
      expect(tfjs.outputs).toEqual(onnx.outputs);
      const [expected, actual] = [await onnx.run(feeds), await tfjs.run(feeds)];
      expect(actual.names).toEqual(expected.names);
      for (const output of expected.names) {
        expect(actual.dims(output)).toEqual(expected.dims(output));
        expect(worst(actual.float32(output), expected.float32(output)), output).toBeLessThan(TOLERANCE);
      }
    });
});

describe("a session on tfjs", () => {
  it("holds no tensor once it is closed", async () => {
    const tf = await loadTf();
    const before = tf.memory().numTensors;
    const { feeds, model } = productGraphs["actor with ppo"]!();
    const session = await Session.open(model, { runtime: "tfjs" });
    const open = tf.memory().numTensors;
    await session.run(feeds);
    await session.run(feeds, ["logp"]);
    expect(tf.memory().numTensors).toBe(open);
    await session.close();
    expect(tf.memory().numTensors).toBe(before);
  });
});
