/** The step pool that a run file asks for. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type AnyEnvironment, asyncEnvironments, type EnvironmentText } from "../contract/BoundEnvironment.ts";
import * as StepPool from "./StepPool.ts";

/** The environments of a run. */
export interface RunEnvironments {
  /** Those of all tags. */
  readonly texts: ReadonlyMap<string, EnvironmentText>;
  /** Those that the main thread plays: the asynchronous ones, and with `pipeline.step_inline` all. */
  readonly onMainThread: ReadonlyMap<string, AnyEnvironment>;
}

/** Step threads, or inline steps. Threads make their environments of the module `registry`, a `RegistryModule`. */
export const layer = (config: RunConfig, { onMainThread, texts }: RunEnvironments, registry: URL) => {
  const { pipeline } = config;
  if (pipeline.step_inline) return StepPool.layerInline(onMainThread);
  const presets = [...texts.keys()].flatMap((tag) => {
    const preset = config.custom_envs[tag];
    return preset === undefined || onMainThread.has(tag) ? [] : [[tag, preset] as const];
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
    asyncEnvironments: asyncEnvironments(onMainThread),
  });
};
