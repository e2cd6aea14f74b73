import { join } from "node:path";
import { Effect } from "effect";
import { beforeAll, describe, expect, it } from "vitest";
import { readModelConfig } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { readParameters } from "../../../src/model/checkpoint/ParameterFile.ts";
import { type AdapterFile, readAdapter } from "../../../src/model/checkpoint/PeftFolder.ts";
import { adaptable, scaleOf } from "../../../src/model/graphs/Adapter.ts";
import { type DecoderConfig, parameters } from "../../../src/model/graphs/Architecture.ts";
import { weight } from "../../../src/model/graphs/Decoder.ts";
import { ADAPTER_SCALE, policyInputs } from "../../../src/model/graphs/Lora.ts";
import type { Parameters } from "../../../src/model/graphs/Parameters.ts";
import { policyForward, scoreModel, targetInputs } from "../../../src/model/graphs/Score.ts";
import { adapterParameters, freshAdapter, trainedParameters } from "../../../src/model/graphs/TrainedParameters.ts";
import { mergeAdapter } from "../../../src/model/mergeAdapter.ts";
import { add, mul } from "../../../src/model/tensor/Elementwise.ts";
import { gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../../src/model/tensor/Layout.ts";
import reference from "../../fixtures/lora-tiny/reference.json" with { type: "json" };
import { float32, int64, runOnce, scalar } from "../tensor/session.ts";
import { draws, everyTarget, weightFeeds } from "../tiny.ts";

const folder = (name: string) => join(import.meta.dirname, "../../fixtures", name);
const [batch, time] = [reference.ids.length, reference.ids[0]!.length];
const inputs = {
  ids: int64([batch, time], reference.ids.flat()),
  before: everyTarget(batch, time),
  temperature: scalar(reference.temperature),
};

let base: DecoderConfig;
let adapted: DecoderConfig;
let frozen: Parameters;
let file: AdapterFile;

beforeAll(async () => {
  base = (await Effect.runPromise(readModelConfig(folder("qwen2-tiny")))).config;
  const read = readParameters(join(folder("qwen2-tiny"), "model.safetensors"), parameters(base));
  frozen = (await Effect.runPromise(read)).parameters;
  file = await Effect.runPromise(readAdapter(folder("lora-tiny"), base));
  adapted = { ...base, adapter: file.adapter };
});

const feeds = (scale: number) => ({
  ...inputs,
  ...weightFeeds(frozen),
  ...weightFeeds(file.parameters),
  [ADAPTER_SCALE]: scalar(scale),
});

/** The largest difference between the valid log-probabilities and the reference's ragged rows. */
const worst = (actual: Float32Array, expected: ReadonlyArray<readonly number[]>): number =>
  Math.max(...expected.flatMap((row, at) => row.map((value, t) => Math.abs(value - actual[at * (time - 1) + t]!))));

describe("an adapter against peft", () => {
  it("is read with its rank, alpha and layers", () => {
    expect(file.adapter).toEqual({ rank: 4, alpha: 6, targets: adaptable });
    expect(file.base).toBe("test/fixtures/qwen2-tiny");
  });

  it("gives the same log-probabilities, and those of the base where it is switched off", async () => {
    const model = scoreModel(adapted);
    const on = await runOnce(model, feeds(scaleOf(file.adapter)));
    expect(worst(on.logp!, reference.logp)).toBeLessThan(1e-4);
    const off = await runOnce(model, feeds(0));
    expect(worst(off.logp!, reference.without)).toBeLessThan(1e-4);
  });

  it("gives the same gradients", async () => {
    const graph = new Graph();
    const weights = policyInputs(graph, adapted);
    const mask = graph.input("mask", "float32", ["targets"]);
    const temperature = graph.input("temperature", "float32", []);
    const { logp, entropy } = policyForward(adapted, weights, targetInputs(graph), temperature);
    const loss = add(reduceSum(mul(logp, mask)), mul(reduceSum(mul(entropy, mask)), reference.entropyWeight));
    const names = trainedParameters(adapted).map(({ name }) => name);
    gradients(
      loss,
      names.map((name) => weight(weights, name)),
    ).forEach((gradient, i) => {
      graph.output(`gradient ${names[i]}`, gradient);
    });
    const valid = reference.lengths.flatMap((length) =>
      Array.from({ length: time - 1 }, (_, at) => (at + 1 < length ? 1 : 0)),
    );
    const results = await runOnce(graph.toModel(), {
      ...feeds(scaleOf(file.adapter)),
      mask: float32([valid.length], valid),
    });
    expect(names.toSorted()).toEqual(Object.keys(reference.gradients).toSorted());
    for (const [name, expected] of Object.entries(reference.gradients)) {
      const gradient = results[`gradient ${name}`]!;
      const product = gradient.reduce((sum, value, index) => sum + value * Math.cos(index), 0);
      expect(Math.abs(Math.hypot(...gradient) - expected.norm) / expected.norm, name).toBeLessThan(1e-4);
      expect(Math.abs(product - expected.product) / expected.norm, name).toBeLessThan(1e-4);
    }
  });

  it("is merged into weights that give the same log-probabilities", async () => {
    const weights = await mergeAdapter(frozen, file.adapter, file.parameters);
    const results = await runOnce(scoreModel(base), { ...inputs, ...weightFeeds(weights) });
    expect(worst(results.logp!, reference.merged)).toBeLessThan(1e-4);
    expect(worst(results.logp!, reference.logp)).toBeLessThan(1e-4);
  });
});

describe("an adapter that adds nothing", () => {
  it("gives the bits of the base, switched off or fresh", async () => {
    const { logp } = await runOnce(scoreModel(base), { ...inputs, ...weightFeeds(frozen) });
    const model = scoreModel(adapted);
    expect((await runOnce(model, feeds(0))).logp).toEqual(logp);
    const fresh = freshAdapter(adapterParameters(base, file.adapter), draws(3));
    const begun = { ...feeds(scaleOf(file.adapter)), ...weightFeeds(fresh) };
    expect((await runOnce(model, begun)).logp).toEqual(logp);
  });
});
