/** Every graph that generation and learning run, at tiny sizes, each with inputs that it accepts. */

import { validTokens } from "../../../../src/generation/Packing.ts";
import { partsModel } from "../../../../src/learner/analysis/partsModel.ts";
import { lossModel, valueLossModel } from "../../../../src/learner/losses/lossModel.ts";
import {
  type PolicyLossName,
  type PolicyLossOptions,
  policyLosses,
} from "../../../../src/learner/losses/policyLoss.ts";
import { actorModel, cloningModel, criticModel, valuesModel } from "../../../../src/learner/models.ts";
import { adamWModel, stepScalars } from "../../../../src/learner/optimiser/adamWModel.ts";
import { criticParameters, type DecoderConfig, parameters } from "../../../../src/model/graphs/Architecture.ts";
import { crossScoreModel } from "../../../../src/model/graphs/CrossScore.ts";
import { extendModel, prefillModel, stepModel } from "../../../../src/model/graphs/Decode.ts";
import { scoreModel } from "../../../../src/model/graphs/Score.ts";
import { bool, type Feeds, float32, type HostTensor, int32, int64 } from "../../../../src/model/runtime/Session.ts";
import type { OnnxModel, OnnxValue } from "../../../../src/model/tensor/Onnx.ts";
import { decoders, draws, randomWeights, tiny } from "../../tiny.ts";

export interface ProductGraph {
  readonly model: OnnxModel;
  readonly feeds: Feeds;
}

/** Long enough that the first of the blocks of rows in causal attention has several. */
const TIME = 11;
const PROMPT = 5;
const sizes: Readonly<Record<string, number>> = {
  batch: 3,
  time: TIME,
  targets: 40,
  capacity: 32,
  tokens: 3 * TIME - 6,
  groups: 2,
  prompt: PROMPT,
  members: 2,
};

const sizesOf = ({ shape }: OnnxValue): readonly number[] =>
  shape.map((dim) => (typeof dim === "number" ? dim : (sizes[dim] ?? Number.NaN)));

const count = (dims: readonly number[]): number => dims.reduce((size, dim) => size * dim, 1);

/** Rows of TIME, TIME - 2 and TIME - 4 tokens. */
const rowLengths = [TIME, TIME - 2, TIME - 4];
const { ranks, valid } = validTokens(BigInt64Array.from(rowLengths, BigInt), TIME);

type Draws = ReturnType<typeof draws>;

/** Whole numbers that an input may have, by its name; a graph reads outside of a table or a row otherwise. */
const wholes = ({ vocabSize }: DecoderConfig, random: Draws, rows: number): Record<string, (i: number) => number> => ({
  ids: () => random.int(vocabSize),
  tokens: () => random.int(vocabSize),
  // never the last column of a row
  before: (i) => (i % rows) * TIME + random.int(TIME - 1),
  lengths: (i) => rowLengths[i]!,
  ranks: (i) => Number(ranks[i]),
  valid: (i) => Number(valid[i]),
  pastLengths: (i) => 4 + 5 * i,
  sequences: (i) => Math.floor(i / 3),
  positions: (i) => (i < 4 ? i : i - 1),
  segments: (i) => (i < 3 ? 0 : i < 5 ? 1 : 2),
});

const feedOf = (input: OnnxValue, random: Draws, whole: ((i: number) => number) | undefined): HostTensor => {
  const dims = sizesOf(input);
  const indices = Array.from({ length: count(dims) }, (_, i) => i);
  switch (input.dtype) {
    case "float32":
      return float32(
        Float32Array.from(indices, () => random.normal()),
        dims,
      );
    case "int64":
      if (whole === undefined) throw new Error(`say what the input ${input.name} may be`);
      return int64(
        BigInt64Array.from(indices, (i) => BigInt(whole(i))),
        dims,
      );
    case "int32":
      return int32(new Int32Array(count(dims)), dims);
    case "bool":
      return bool(new Uint8Array(count(dims)), dims);
    case "uint8":
      throw new Error(`no graph of the product's learner reads ${input.dtype}: ${input.name}`);
  }
};

/** Random inputs, weights and what must be positive or a probability set apart. */
export const feedsOf = (model: OnnxModel, config: DecoderConfig = tiny, seed = 7): Feeds => {
  const random = draws(seed);
  const weights = randomWeights(criticParameters(config), seed);
  const values = new Map(weights.specs.map(({ name }, i) => [name, weights.tensors[i]!]));
  const positive = (x: HostTensor): HostTensor => float32(Float32Array.from(x.data as Float32Array, Math.abs), x.dims);
  const ids = model.inputs.find(({ name }) => name === "ids");
  const usual = wholes(config, random, (ids && sizesOf(ids)[0]) ?? 1);
  const isShared = model.inputs.some(({ name }) => name === "prompts");
  const whole = isShared
    ? {
        ...usual,
        prompts: () => random.int(config.vocabSize),
        lengths: (i: number) => PROMPT - 2 * i,
        before: () => random.int(2 * PROMPT + 4 * TIME),
      }
    : usual;
  const feeds: Record<string, HostTensor> = {};
  for (const input of model.inputs) {
    const fixed = values.get(input.name);
    feeds[input.name] = fixed === undefined ? feedOf(input, random, whole[input.name]) : float32(fixed, sizesOf(input));
  }
  for (const name of ["weights", "importance", "second"]) if (feeds[name]) feeds[name] = positive(feeds[name]);
  if (feeds.temperature) feeds.temperature = float32(Float32Array.of(0.8), []);
  return feeds;
};

const clip = { low: 0.2, high: 0.28, dual: 3 };
export const lossNames = Object.keys(policyLosses) as readonly PolicyLossName[];
export const klTypes = ["k1", "abs", "k2", "k3", "k1+", "abs+", "k3+"] as const;

export const lossOptions = (loss: PolicyLossName, changes: Partial<PolicyLossOptions> = {}): PolicyLossOptions => ({
  loss,
  clip,
  entropyCoefficient: 0.01,
  kl: { coefficient: 0.1, type: "k3" },
  ...changes,
});

/** Above the size at which an embedding's gradient is scattered. */
const wide: DecoderConfig = { ...tiny, vocabSize: 1100, layers: 1 };

const adamw = { betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0.1, gradClip: 1 } as const;

const adamwGraph = (): ProductGraph => {
  const model = adamWModel(50, adamw);
  const values = Object.entries(stepScalars(adamw, 1e-2, 3)).map(
    ([name, value]) => [name, float32(Float32Array.of(value), [])] as const,
  );
  return { model, feeds: { ...feedsOf(model), ...Object.fromEntries(values) } };
};

const given = (model: OnnxModel, config?: DecoderConfig): ProductGraph => ({ model, feeds: feedsOf(model, config) });

/** By name. */
export const productGraphs: Readonly<Record<string, () => ProductGraph>> = {
  score: () => given(scoreModel(tiny)),
  crossScore: () => given(crossScoreModel(tiny)),
  prefill: () => given(prefillModel(tiny)),
  extend: () => given(extendModel(tiny)),
  step: () => given(stepModel(tiny)),
  critic: () => given(criticModel(tiny, 0.5)),
  values: () => given(valuesModel(tiny)),
  cloning: () => given(cloningModel(tiny)),
  "cloning with a wide vocabulary": () => given(cloningModel(wide), wide),
  "cloning with shared prompts": () =>
    given(cloningModel(tiny, undefined, { targets: 64, recompute: "nothing", shared: true })),
  "values with shared prompts": () => given(valuesModel(tiny, { targets: 64, recompute: "nothing", shared: true })),
  parts: () => given(partsModel(tiny, lossOptions("ppo"))),
  adamw: adamwGraph,
  ...Object.fromEntries(
    decoders.slice(1).flatMap(([family, config]) => [
      [`score of ${family}`, () => given(scoreModel(config), config)],
      [`prefill of ${family}`, () => given(prefillModel(config), config)],
      [`extend of ${family}`, () => given(extendModel(config), config)],
      [`step of ${family}`, () => given(stepModel(config), config)],
      [`cloning of ${family}`, () => given(cloningModel(config), config)],
    ]),
  ),
  ...Object.fromEntries(
    lossNames.map((loss) => [`actor with ${loss}`, () => given(actorModel(tiny, lossOptions(loss)))]),
  ),
  "actor without a divergence": () =>
    given(actorModel(tiny, lossOptions("ppo", { kl: undefined, entropyCoefficient: 0 }))),
  "actor with the log-linear policy": () => given(actorModel(tiny, lossOptions("ppo", { logLinear: { cap: 2 } }))),
  ...Object.fromEntries(
    klTypes.map((type) => [
      `loss with ${type}`,
      () => given(lossModel(lossOptions("ppo", { kl: { coefficient: 0.1, type } }))),
    ]),
  ),
  ...Object.fromEntries(lossNames.map((loss) => [`loss ${loss}`, () => given(lossModel(lossOptions(loss)))])),
  "value loss": () => given(valueLossModel(0.5)),
};

export const policyParameters = parameters(tiny);
