import { join } from "node:path";
import { Effect } from "effect";
import { beforeAll, describe, expect, it } from "vitest";
import { readModelConfig } from "../../../src/policy/checkpoint/HuggingFaceFolder.ts";
import { readParameters } from "../../../src/policy/checkpoint/ParameterFile.ts";
import { type DecoderConfig, parameters } from "../../../src/policy/model/Architecture.ts";
import { logits, trunk, weightInputs } from "../../../src/policy/model/Decoder.ts";
import type { Parameters } from "../../../src/policy/model/Parameters.ts";
import { policyForward, targetInputs } from "../../../src/policy/model/Score.ts";
import { add, mul } from "../../../src/tensor/Elementwise.ts";
import { gradients } from "../../../src/tensor/Gradients.ts";
import { Graph } from "../../../src/tensor/Graph.ts";
import { reduceSum } from "../../../src/tensor/Layout.ts";
import reference from "../../fixtures/qwen2-tiny/reference.json" with { type: "json" };
import { float32, int64, runOnce, scalar } from "../../tensor/session.ts";
import { everyTarget, weightFeeds } from "../tiny.ts";

const folder = join(import.meta.dirname, "../../fixtures/qwen2-tiny");
const [batch, time] = [reference.ids.length, reference.ids[0]!.length];
const ids = int64([batch, time], reference.ids.flat());

let config: DecoderConfig;
let loaded: Parameters;

beforeAll(async () => {
  config = (await Effect.runPromise(readModelConfig(folder))).config;
  const file = readParameters(join(folder, "model.safetensors"), parameters(config));
  loaded = (await Effect.runPromise(file)).parameters;
});

/** The largest difference between valid entries of [batch, columns, width] and the reference's ragged rows. */
const worst = (actual: Float32Array, columns: number, expected: ReadonlyArray<readonly number[]>): number => {
  const width = actual.length / batch / columns;
  return Math.max(
    ...expected.flatMap((row, at) =>
      row.map((value, index) => Math.abs(value - actual[at * columns * width + index]!)),
    ),
  );
};

describe("Qwen2 against transformers", () => {
  it("gives the same logits", async () => {
    const graph = new Graph();
    const weights = weightInputs(graph, parameters(config));
    graph.output("logits", logits(weights, trunk(config, weights, graph.input("ids", "int64", ["batch", "time"]))));
    const results = await runOnce(graph.toModel(), { ...weightFeeds(loaded), ids });
    const expected = reference.logits.map((row) => row.flat());
    expect(worst(results.logits!, time, expected)).toBeLessThan(1e-4);
  });

  it("gives the same log-probabilities, entropies and gradients at a temperature", async () => {
    const graph = new Graph();
    const weights = weightInputs(graph, parameters(config));
    const mask = graph.input("mask", "float32", ["targets"]);
    const temperature = graph.input("temperature", "float32", []);
    const { logp, entropy } = policyForward(config, weights, targetInputs(graph), temperature);
    const loss = add(reduceSum(mul(logp, mask)), mul(reduceSum(mul(entropy, mask)), reference.entropyWeight));
    graph.output("logp", logp);
    graph.output("entropy", entropy);
    const names = [...weights.keys()];
    gradients(loss, [...weights.values()]).forEach((gradient, index) => {
      graph.output(`gradient ${names[index]}`, gradient);
    });
    const valid = reference.lengths.flatMap((length) =>
      Array.from({ length: time - 1 }, (_, at) => (at + 1 < length ? 1 : 0)),
    );
    const results = await runOnce(graph.toModel(), {
      ...weightFeeds(loaded),
      ids,
      before: everyTarget(batch, time),
      temperature: scalar(reference.temperature),
      mask: float32([valid.length], valid),
    });

    expect(worst(results.logp!, time - 1, reference.logp)).toBeLessThan(1e-4);
    expect(worst(results.entropy!, time - 1, reference.entropy)).toBeLessThan(1e-4);
    expect(names.toSorted()).toEqual(Object.keys(reference.gradients).toSorted());
    for (const [name, expected] of Object.entries(reference.gradients)) {
      const gradient = results[`gradient ${name}`]!;
      const norm = Math.hypot(...gradient);
      const product = gradient.reduce((sum, value, index) => sum + value * Math.cos(index), 0);
      expect(Math.abs(norm - expected.norm) / expected.norm, name).toBeLessThan(1e-4);
      expect(Math.abs(product - expected.product) / expected.norm, name).toBeLessThan(1e-4);
    }
  });
});
