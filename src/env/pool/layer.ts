/** The step pool that a run file asks for. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type AnyEnvironment, pure, waiting } from "../contract/BoundEnvironment.ts";
import * as StepPool from "./StepPool.ts";

/** Step threads, or inline steps, over the environments by their tags. Threads make theirs of the module `registry`, a `RegistryModule`. */
export const layer = (config: RunConfig, environments: ReadonlyMap<string, AnyEnvironment>, registry: URL) => {
  const { pipeline } = config;
  if (pipeline.step_inline) return StepPool.layerInline(environments);
  const presets = [...pure(environments).keys()].flatMap((tag) => {
    const preset = config.custom_envs[tag];
    return preset === undefined ? [] : [[tag, preset] as const];
  });
  return StepPool.layerThreads({
    registry,
    presets: Object.fromEntries(presets),
    threads: pipeline.step_threads,
    concurrency: pipeline.step_concurrency,
    timeoutMs: pipeline.step_timeout_ms,
    spares: pipeline.step_spares,
    quarantine: pipeline.step_quarantine,
    giveWay: pipeline.step_give_way,
    waiting: waiting(environments),
  });
};
