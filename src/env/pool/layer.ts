/** Makes the step pool that a run file asks for. */
import { withLevels } from "../../config/levels.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Introduction } from "../contract/AsyncEnvironment.ts";
import { type AnyEnvironment, asyncEnvironments } from "../contract/BoundEnvironment.ts";
import * as StepPool from "./StepPool.ts";

/** The environments of a run. */
export interface RunEnvironments {
  /** The prompt texts of all tags. */
  readonly texts: ReadonlyMap<string, Introduction>;
  /** The environments that the main thread plays: the asynchronous ones, and all of them under `pipeline.step_inline`. */
  readonly onMainThread: ReadonlyMap<string, AnyEnvironment>;
}

/** Makes step threads, or inline steps. Threads import the module at `registry`, a `RegistryModule`, to make their environments. */
export const layer = (config: RunConfig, { onMainThread, texts }: RunEnvironments, registry: URL) => {
  const { pipeline } = config;
  if (pipeline.step_inline) return StepPool.layerInline(onMainThread);
  const all = withLevels(config.custom_envs);
  const presets = [...texts.keys()].flatMap((tag) => {
    const preset = all[tag];
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
