/**
 * The threads of a run: generators over a model, environments over their presets. Enters: the run's configuration and the model it starts
 * from; leaves: the raw services, alive as long as their scope.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import { type AnyEnvironment, pure, waiting } from "../env/BoundEnvironment.ts";
import * as StepPool from "../env/pool/StepPool.ts";
import * as Generator from "../policy/generation/Generator.ts";
import * as Rollout from "../rollout/Rollout.ts";
import { fromPreset } from "../rollout/Task.ts";
import type { Model } from "./Model.ts";

/** Environments by tag, decoded. */
export type Environments = ReadonlyMap<string, AnyEnvironment>;

/** Tags of a run, each once. */
export const tagsOf = ({ es_manager: { train, val } }: RunConfig): readonly string[] => [
  ...new Set([...train.tags, ...val.tags]),
];

export const environmentsLayer = (config: RunConfig, environments: Environments) => {
  const { step_inline, step_threads, step_concurrency, step_timeout_ms } = config.pipeline;
  if (step_inline) return StepPool.layerInline(environments);
  return StepPool.layerThreads({
    presets: Object.fromEntries([...pure(environments).keys()].map((tag) => [tag, config.custom_envs[tag]!])),
    threads: step_threads,
    concurrency: step_concurrency,
    timeoutMs: step_timeout_ms,
    waiting: waiting(environments),
  });
};

/** Generator threads that start from `model`'s weights as `version`. */
export const generator = (config: RunConfig, model: Model, version: Version) =>
  Generator.make({
    config: model.checkpoint.config,
    version,
    parameters: model.checkpoint.parameters.flat,
    threads: config.model.generator_threads,
    generation: config.generation,
    stopIds: model.stopIds,
    bytesOf: model.tokenizer.bytesOf,
  });

export const rollout = (config: RunConfig, model: Model, environments: Environments): Rollout.Rollout =>
  Rollout.make(
    config,
    [...environments].map(([tag, environment]) => fromPreset(tag, config.custom_envs[tag]!, environment)),
    model.chat,
    model.tokenizer,
  );
