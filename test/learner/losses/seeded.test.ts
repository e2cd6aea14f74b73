/** The network's backward pass from a loss that was computed elsewhere is that of the graph that holds both. */
import { describe, expect, it } from "vitest";
import { gradientName, outputGradients } from "../../../src/learner/gradients.ts";
import { lossModel } from "../../../src/learner/losses/lossModel.ts";
import type { PolicyLossOptions } from "../../../src/learner/losses/policyLoss.ts";
import { actorModel } from "../../../src/learner/models.ts";
import { parameters } from "../../../src/model/graphs/Architecture.ts";
import { weightInputs } from "../../../src/model/graphs/Decoder.ts";
import { policyForward, targetInputs } from "../../../src/model/graphs/Score.ts";
import { backward } from "../../../src/model/tensor/Gradients.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import type { OnnxModel } from "../../../src/model/tensor/Onnx.ts";
import { type Feeds, float32, int64, runOnce, scalar } from "../../model/tensor/session.ts";
import { draws, randomIds, weightFeeds } from "../../model/tiny.ts";
import { tiny, tinyParameters } from "../model.ts";

const specs = parameters(tiny);
const targetInputsOf = (time: number) => {
  const ids = [randomIds(time, 1), randomIds(time, 2)].flat().map((id) => Number(id) % tiny.vocabSize);
  return { ids: int64([2, time], ids), before: int64([6], [0, 2, 3, time, time + 1, time + 4]) };
};
const random = draws(3);
const list = (draw: () => number) => float32([6], Array.from({ length: 6 }, draw));
const perTarget: Feeds = {
  old: list(() => -3 + 0.4 * random.normal()),
  advantages: list(random.normal),
  weights: float32([6], [0.2, 0.1, 0.2, 0.3, 0.1, 0]),
  importance: list(() => 2 * random.uniform()),
};
const reference: Feeds = { reference: list(() => -3 + 0.4 * random.normal()) };
const sequences: Feeds = { sequences: int64([6], [0, 0, 0, 1, 1, 0]) };

/** Seeds in, the gradient of all weights out. */
const seeded = (): OnnxModel => {
  const graph = new Graph("seeded");
  const weights = weightInputs(graph, specs);
  const temperature = graph.input("temperature", "float32", []);
  const { entropy, logp } = policyForward(tiny, weights, targetInputs(graph), temperature);
  const seed = (name: string) => graph.input(name, "float32", ["targets"]);
  const seeds = [
    { tensor: logp, gradient: seed("dlogp") },
    { tensor: entropy, gradient: seed("dentropy") },
  ];
  outputGradients(graph, (ordered) => backward(seeds, ordered), weights, specs);
  graph.output("logp", logp);
  graph.output("entropy", entropy);
  return graph.toModel();
};

const clip = { low: 0.2, high: 0.28, dual: 3 };
const cases: readonly (readonly [PolicyLossOptions, Feeds])[] = [
  [
    { loss: "ppo", clip, entropyCoefficient: 0.01, kl: { coefficient: 0.1, type: "k3+" } },
    { ...perTarget, ...reference },
  ],
  [{ loss: "ppo", clip, entropyCoefficient: 0, kl: undefined }, perTarget],
  [
    { loss: "gspo", clip, entropyCoefficient: 0.01, kl: undefined },
    { ...perTarget, ...sequences },
  ],
];

describe("a loss alone, its gradients the seeds of the network's backward pass, gives the fused gradient", () => {
  it.each(cases.map(([options, feeds]) => [options.loss, options, feeds] as const))("%s", async (_, options, feeds) => {
    const network = { ...weightFeeds(tinyParameters()), ...targetInputsOf(7), temperature: scalar(0.8) };
    const fused = await runOnce(actorModel(tiny, options), { ...network, ...feeds });
    const nothing = float32([6], new Float32Array(6));
    const model = seeded();
    const { entropy, logp } = await runOnce(model, { ...network, dlogp: nothing, dentropy: nothing });
    const alone = await runOnce(lossModel(options), {
      ...feeds,
      logp: float32([6], logp!),
      entropy: float32([6], entropy!),
    });
    const fromSeeds = await runOnce(model, {
      ...network,
      dlogp: float32([6], alone.dlogp!),
      dentropy: float32([6], alone.dentropy!),
    });
    expect(alone.loss_surrogate![0]).toBeCloseTo(fused.surrogate![0]!, 6);
    const [gradient, expected] = [fromSeeds, fused].map((results) =>
      specs.flatMap((spec) => [...results[gradientName(spec)]!]),
    );
    const size = Math.hypot(...expected!);
    expect(size).toBeGreaterThan(1e-3);
    expect(Math.hypot(...gradient!.map((value, i) => value - expected![i]!)) / size).toBeLessThan(1e-6);
  });
});
