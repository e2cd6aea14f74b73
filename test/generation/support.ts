/** A tiny model, requests and a generator loop driven to rest, for the generator's tests. */

import type { Sampled, Version } from "../../src/domain/Episode.ts";
import { stream } from "../../src/domain/Random.ts";
import { GeneratorLoop, type GeneratorLoopOptions } from "../../src/generation/GeneratorLoop.ts";
import type { GeneratorModel, LanguageModel } from "../../src/generation/LanguageModel.ts";
import { type OnnxWeights, open } from "../../src/generation/OnnxModel.ts";
import type { GenerateRequest } from "../../src/generation/Policy.ts";
import type { GenerationFailure } from "../../src/generation/Reply.ts";
import { parameters } from "../../src/model/graphs/Architecture.ts";
import type { Parameters } from "../../src/model/graphs/Parameters.ts";
import { scoreModel } from "../../src/model/graphs/Score.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { int64, runOnce, scalar } from "../model/tensor/session.ts";
import { everyTarget, randomWeights, tiny, weightFeeds } from "../model/tiny.ts";

export { tiny } from "../model/tiny.ts";

/** Weights of a version: large enough that sampling is far from uniform. */
export const weightsOf = (version: Version): Parameters => randomWeights(parameters(tiny), 100 + version);

export const loopOptions: GeneratorLoopOptions = {
  slots: 16,
  prefillTokens: 256,
  prefillRows: 4,
  prefillPatience: 2,
  refeeding: "exact",
  kvOnUpdate: "keep",
  retention: { kept: 2, isStrict: false },
  stopIds: [],
  stops: () => null,
  onAdopted: () => {},
};

export const withModel = async <A>(use: (model: LanguageModel<OnnxWeights>) => Promise<A>): Promise<A> => {
  const model = await open(tiny);
  try {
    return await use(model);
  } finally {
    await model.close();
  }
};

export const loopOn = <W>(
  model: GeneratorModel<W>,
  options: Partial<GeneratorLoopOptions> = {},
  version: Version = 0,
): GeneratorLoop<W> =>
  new GeneratorLoop(model, { version, payload: fullPayload(weightsOf(version).flat) }, { ...loopOptions, ...options });

export const idsOf = (length: number, ...counters: readonly number[]): Int32Array => {
  const random = stream({ seed: 5, purpose: "play", counters });
  return Int32Array.from({ length }, () => random.int(tiny.vocabSize));
};

export const requestOf = (
  sequence: number,
  append: Int32Array,
  more: Partial<GenerateRequest> = {},
): GenerateRequest => ({
  sequence,
  append,
  sharedPrefix: 0,
  maxTokens: 12,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 3, purpose: "sampling", counters: [sequence] },
  pin: null,
  ...more,
});

export class Refused extends Error {
  readonly failure: GenerationFailure;

  constructor(failure: GenerationFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const reply = <W>(loop: GeneratorLoop<W>, request: GenerateRequest): Promise<Sampled> =>
  new Promise((done, reject) => loop.generate(request, { done, fail: (failure) => reject(new Refused(failure)) }));

/** Log-probabilities of ids[1..] given what precedes them, by full scoring. */
export const score = async (ids: Int32Array, version: Version, temperature = 1): Promise<Float32Array> => {
  const { logp } = await runOnce(scoreModel(tiny), {
    ...weightFeeds(weightsOf(version)),
    ids: int64([1, ids.length], ids),
    before: everyTarget(1, ids.length),
    temperature: scalar(temperature),
  });
  if (logp === undefined) throw new Error("the model has no log-probabilities");
  return logp;
};

export const concat = (...parts: readonly Int32Array[]): Int32Array =>
  Int32Array.from(parts.flatMap((part) => [...part]));
