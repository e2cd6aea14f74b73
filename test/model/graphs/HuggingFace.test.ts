import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { readModelConfig, readWeights } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { parameters } from "../../../src/model/graphs/Architecture.ts";
import { logits, trunk, weightInputs } from "../../../src/model/graphs/Decoder.ts";
import { policyForward, targetInputs } from "../../../src/model/graphs/Score.ts";
import { add, mul } from "../../../src/model/tensor/Elementwise.ts";
import { gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../../src/model/tensor/Layout.ts";
import { playTurns } from "../../generation/turns.ts";
import { folders } from "../folders.ts";
import { float32, int64, runOnce, scalar } from "../tensor/session.ts";
import { everyTarget, weightFeeds } from "../tiny.ts";

const load = (path: string) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const model = yield* readModelConfig(path);
      return { config: model.config, loaded: (yield* readWeights(path, model)).parameters };
    }),
  );

/** The largest difference between valid entries of [batch, columns, width] and the reference's ragged rows. */
const worst = (actual: Float32Array, columns: number, expected: ReadonlyArray<readonly number[]>): number => {
  const width = actual.length / expected.length / columns;
  return Math.max(
    ...expected.flatMap((row, at) =>
      row.map((value, index) => Math.abs(value - actual[at * columns * width + index]!)),
    ),
  );
};

describe.each(folders)("%s against transformers", (_, { path, reference, generation }) => {
  const [batch, time] = [reference.ids.length, reference.ids[0]!.length];
  const ids = int64([batch, time], reference.ids.flat());

  it("gives the same logits", async () => {
    const { config, loaded } = await load(path);
    const graph = new Graph();
    const weights = weightInputs(graph, parameters(config));
    graph.output("logits", logits(weights, trunk(config, weights, graph.input("ids", "int64", ["batch", "time"]))));
    const results = await runOnce(graph.toModel(), { ...weightFeeds(loaded), ids });
    const expected = reference.logits.map((row) => row.flat());
    expect(worst(results.logits!, time, expected)).toBeLessThan(1e-4);
  });

  it("gives the same log-probabilities, entropies and gradients at a temperature", async () => {
    const { config, loaded } = await load(path);
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

  it("gives the same greedy ids over cached turns", async () => {
    const turns = await playTurns(path, { temperature: 0, topK: -1, topP: 1 });
    expect(turns.map(({ ids }) => Array.from(ids))).toEqual(generation.greedy);
  });

  it("samples over cached turns with the log-probabilities of transformers", async () => {
    const turns = await playTurns(path, { temperature: 1, topK: -1, topP: 1 });
    expect(turns.map(({ ids }) => Array.from(ids))).toEqual(generation.sampled.map(({ ids }) => ids));
    const differences = turns.flatMap(({ mu }, turn) =>
      Array.from(mu, (value, at) => Math.abs(value - generation.sampled[turn]!.logp[at]!)),
    );
    expect(Math.max(...differences)).toBeLessThan(1e-3);
  });
});
