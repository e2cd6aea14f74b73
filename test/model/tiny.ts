/** Random decoders small enough for every test, and feeds of their weights. */
import { stream } from "../../src/domain/Random.ts";
import {
  type DecoderConfig,
  familyDefaults,
  type ParameterSpec,
  parameters,
} from "../../src/model/graphs/Architecture.ts";
import { initialise, namedTensors, type Parameters } from "../../src/model/graphs/Parameters.ts";
import { type Feeds, float32, int64 } from "./tensor/session.ts";

export const tiny: DecoderConfig = {
  ...familyDefaults.qwen2,
  vocabSize: 40,
  hiddenSize: 32,
  intermediateSize: 48,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  rmsNormEps: 1e-6,
  ropeTheta: 10_000,
  maxPositions: 512,
  tieEmbedding: true,
};

/** One of each family. The Llama has an output matrix, and so many positions that their rotary tables are computed in the graph. */
export const decoders: ReadonlyArray<readonly [name: string, config: DecoderConfig]> = [
  ["Qwen2", tiny],
  [
    "Llama",
    {
      ...tiny,
      ...familyDefaults.llama,
      ropeScaling: {
        type: "llama3",
        factor: 8,
        lowFrequencyFactor: 1,
        highFrequencyFactor: 4,
        originalMaxPositions: 40,
      },
      ropeTheta: 50,
      maxPositions: 2 ** 17,
      tieEmbedding: false,
    },
  ],
  ["Qwen3", { ...tiny, ...familyDefaults.qwen3, headDim: 12 }],
];

export const draws = (seed: number) => stream({ seed, purpose: "initialisation", counters: [] });

/** Weights far from zero, biases and norms included, so that no part of the model is idle. */
export const randomWeights = (specs: readonly ParameterSpec[] = parameters(tiny), seed = 1): Parameters => {
  const random = draws(seed);
  const weights = initialise(specs, random, 0.3);
  for (const [i, value] of weights.flat.entries()) weights.flat[i] = value + 0.1 * random.normal();
  return weights;
};

export const weightFeeds = (parameters: Parameters): Feeds =>
  Object.fromEntries(namedTensors(parameters).map(({ name, shape, values }) => [name, float32(shape, values)]));

export const randomIds = (count: number, seed = 2): readonly number[] => {
  const random = draws(seed);
  return Array.from({ length: count }, () => random.int(tiny.vocabSize));
};

/** The feed that makes a target of every id but the first of each row, so that results are [batch, time - 1] in order. */
export const everyTarget = (batch: number, time: number) =>
  int64(
    [batch * (time - 1)],
    Array.from({ length: batch * (time - 1) }, (_, i) => Math.floor(i / (time - 1)) * time + (i % (time - 1))),
  );

/** log softmax of one row of logits. */
export const logProbabilities = (logits: ArrayLike<number>): readonly number[] => {
  const list = Array.from(logits);
  const top = Math.max(...list);
  const total = top + Math.log(list.reduce((sum, value) => sum + Math.exp(value - top), 0));
  return list.map((value) => value - total);
};
