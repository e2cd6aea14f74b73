/** A tiny Qwen2 and default sections for the learner's tests. */
import { stream } from "../../src/domain/Random.ts";
import type { TrainerOptions } from "../../src/learner/TrainerOptions.ts";
import { type DecoderConfig, familyDefaults, parameters } from "../../src/model/graphs/Architecture.ts";
import { initialise, type Parameters } from "../../src/model/graphs/Parameters.ts";
import { learnerSections } from "../build/config.ts";

export const tiny: DecoderConfig = {
  ...familyDefaults.qwen2,
  vocabSize: 19,
  hiddenSize: 16,
  intermediateSize: 24,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  rmsNormEps: 1e-6,
  ropeTheta: 10_000,
  maxPositions: 64,
  tieEmbedding: true,
};

export const tinyParameters = (seed = 7, config = tiny): Parameters =>
  initialise(parameters(config), stream({ seed, purpose: "initialisation", counters: [] }), 0.2);

export const { actor: actorDefaults, algorithm: algorithmDefaults, critic: criticDefaults } = learnerSections();

/** RAGEN's defaults at rates that show on a tiny model, cut into several mini- and micro-batches. */
export const trainerOptions: TrainerOptions = {
  seed: 11,
  lanes: 1,
  threads: 1,
  totalUpdates: 100,
  algorithm: algorithmDefaults,
  lossScaling: "none",
  actor: { ...actorDefaults, lr: 1e-3, ppo_mini_batch_size: 4, micro_batch_tokens: 64 },
  critic: { ...criticDefaults, lr: 1e-3 },
};
