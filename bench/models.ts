/** The decoders that benches run, at random weights, and the floating-point operations that a token costs in them. */
import { stream } from "../src/domain/Random.ts";
import { type DecoderConfig, familyDefaults, parameterCount, parameters } from "../src/model/graphs/Architecture.ts";
import { initialise, type Parameters } from "../src/model/graphs/Parameters.ts";

const common = {
  ...familyDefaults.qwen2,
  rmsNormEps: 1e-6,
  ropeTheta: 10_000,
  maxPositions: 1024,
  tieEmbedding: true,
} as const satisfies Partial<DecoderConfig>;

/** The shape of the embedded model, with a vocabulary of its order: 0.8 M parameters. */
export const small: DecoderConfig = {
  ...common,
  vocabSize: 600,
  hiddenSize: 128,
  intermediateSize: 384,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
};

/** 5 M parameters. */
export const medium: DecoderConfig = {
  ...common,
  vocabSize: 600,
  hiddenSize: 256,
  intermediateSize: 768,
  layers: 6,
  heads: 8,
  kvHeads: 4,
  headDim: 32,
};

/** The shape of SmolLM2-135M. */
export const large: DecoderConfig = {
  ...common,
  ...familyDefaults.llama,
  maxPositions: 2048,
  vocabSize: 49_152,
  hiddenSize: 576,
  intermediateSize: 1536,
  layers: 30,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
};

/** "0.84 M" */
export const sizeOf = (config: DecoderConfig): string => `${(parameterCount(parameters(config)) / 1e6).toFixed(2)} M`;

/** The deviation keeps distributions wide, so that replies rarely end by themselves. */
export const randomWeights = (config: DecoderConfig): Parameters =>
  initialise(parameters(config), stream({ seed: 1, purpose: "initialisation", counters: [] }), 0.05);

/** Numbers that take part in a matrix product for every token: all of the trunk's matrices, without the embedding. */
const trunkMatrices = ({ hiddenSize, intermediateSize, layers, heads, kvHeads, headDim }: DecoderConfig): number =>
  layers * hiddenSize * (2 * heads * headDim + 2 * kvHeads * headDim + 3 * intermediateSize);

/** Matrices of the last block behind its attention. */
const tailMatrices = ({ hiddenSize, intermediateSize, heads, headDim }: DecoderConfig): number =>
  hiddenSize * (heads * headDim + 3 * intermediateSize);

export interface Reading {
  /** True where the output layer reads the hidden states. */
  readonly scored: boolean;
  /** Share of the positions that are read; the others need nothing behind the last attention. */
  readonly read: number;
}

/**
 * Operations of a forward pass per token of a sequence of `time` tokens. The N numbers of matrices that a token meets
 * cost 2 N. Attention costs 2 per query number, key and product (scores, then values), over the (time + 1) / 2
 * positions that a token sees on average.
 */
export const forwardFlops = (config: DecoderConfig, time: number, { scored, read }: Reading): number => {
  const { vocabSize, hiddenSize, layers, heads, headDim } = config;
  const output = scored ? vocabSize * hiddenSize : 0;
  const matrices = trunkMatrices(config) - (1 - read) * tailMatrices(config) + read * output;
  return 2 * matrices + layers * heads * headDim * 2 * 2 * ((time + 1) / 2);
};

/** A backward pass has two products for each of the forward's. */
export const FORWARD_AND_BACKWARD = 3;
