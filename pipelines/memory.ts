/**
 * What a pipeline needs of memory at the very least, compared with the limits of this process before it starts a thread: a native library
 * that gets no memory ends the process without a word. A need is a lower bound, so that a run that may fit is never refused;
 * docs/run-file.md says how its constants were measured.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Effect, Exit } from "effect";
import { isGeneratorRemote } from "../src/config/checks/generator.ts";
import { parametersOf } from "../src/config/checks/sft.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import { currentLimits, type MemoryLimit, mappedBytes } from "../src/support/process/memoryLimits.ts";
import type { PipelineName } from "./pipelineName.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

export interface Need {
  readonly memory: number;
  readonly addressSpace: number;
  /** Threads that it counts. */
  readonly threads: number;
}

/** Why a need cannot be met, or null; of several limits, the lowest of a kind. */
export const refusal = (need: Need, limits: readonly MemoryLimit[]): string | null => {
  const inGiB = (bytes: number) => `${(bytes / GiB).toFixed(bytes < 10 * GiB ? 1 : 0)} GiB`;
  const broken = limits
    .filter(({ bytes, resource }) => bytes < (resource === "memory" ? need.memory : need.addressSpace))
    .sort((a, b) => a.bytes - b.bytes);
  const limit = broken.find(({ resource }) => resource === "memory") ?? broken[0];
  if (limit === undefined) return null;
  const allows = `memory: ${limit.source} allows ${inGiB(limit.bytes)}`;
  const fewer = "model.generator_threads, model.learner_lanes and pipeline.step_threads take less where they are lower";
  return limit.resource === "memory"
    ? `${allows}; this run needs at least ${inGiB(need.memory)}; ${fewer}`
    : `${allows} of address space; this run reserves about ${inGiB(need.addressSpace)} with its ${need.threads} threads; set ulimit -v unlimited`;
};

/** Resident bytes of the main thread, of the first lane's learner, and of one more thread of each kind. */
const resident = { main: 130 * MiB, learner: 190 * MiB, lane: 50 * MiB, generator: 55 * MiB, step: 50 * MiB };
/** Address space a thread reserves: guarded WebAssembly memory (of the TypeScript loader, from sources) and V8's code and heap. */
const reserved = import.meta.url.endsWith(".ts") ? 8.4 * GiB : 0.57 * GiB;
/** And the learner's sessions beyond its threads. */
const reservedByLearner = 0.6 * GiB;

/** Bytes of the weights as they lie in a folder: in memory they are at least as many. A folder that cannot be read is refused later. */
const weightBytes = (folder: string): number => {
  try {
    const files = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
    return files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  } catch {
    return 0;
  }
};

/** What a pipeline needs for weights of so many bytes, `mapped` bytes of address space being taken already. */
export const needOf = (pipeline: PipelineName, config: RunConfig, weights: number, mapped: number): Need => {
  const { algorithm, critic, model, pipeline: stages } = config;
  // Servers generate for training; an evaluation plays here.
  const generators =
    pipeline === "sft" || (pipeline === "train" && isGeneratorRemote(model)) ? 0 : model.generator_threads;
  const steps = pipeline === "sft" || stages.step_inline ? 0 : stages.step_threads;
  const lanes = pipeline === "evaluate" ? 0 : model.learner_lanes;
  const threads = generators + steps + lanes;
  // Weights, gradient and AdamW's two moments of each network that learns.
  const ofCritic = pipeline === "train" && algorithm.adv_estimator === "gae" && critic.layers === 0 ? 4 : 0;
  // All threads share the weights beside an adapter; the adapter itself is small.
  const shares = model.lora.rank > 0 || model.adapter !== "";
  const copies = shares ? 1 : 1 + generators + (lanes === 0 ? 0 : 4 + ofCritic);
  const memory =
    resident.main +
    (lanes === 0 ? 0 : resident.learner) +
    lanes * resident.lane +
    generators * resident.generator +
    steps * resident.step +
    copies * weights;
  const addressSpace = mapped + threads * reserved + (lanes === 0 ? 0 : reservedByLearner);
  return { memory, addressSpace, threads };
};

/** Fails with BadInput where a pipeline cannot run within the memory there is. */
export const checkMemory = (pipeline: PipelineName, config: RunConfig): Effect.Effect<void, BadInput> =>
  Effect.suspend(() => {
    const { init, architecture } = config.sft;
    const random = pipeline === "sft" && init === "random";
    const weights = random
      ? 4 * parametersOf(architecture)
      : weightBytes(pipeline === "sft" ? init : config.model.path);
    const problem = refusal(needOf(pipeline, config, weights, mappedBytes()), currentLimits());
    return problem === null ? Effect.void : Effect.fail(new BadInput({ message: problem }));
  });

/** Keys and values of all slots, when their sequences are as long as they may be, in bytes. */
const cacheBytes = ({ headDim, kvHeads, layers }: DecoderConfig, { generation, model, rollout }: RunConfig): number =>
  model.generator_threads *
  generation.slots *
  rollout.max_model_len *
  2 *
  layers *
  kvHeads *
  headDim *
  Float32Array.BYTES_PER_ELEMENT;

/** Whether a training run has memory for full caches too: half of what there is, and the other half for everything else. */
export const fitsWithCaches = (config: RunConfig, model: DecoderConfig): boolean => {
  const most = currentLimits().flatMap(({ bytes, resource }) => (resource === "memory" ? [bytes / 2] : []));
  return (
    cacheBytes(model, config) <= Math.min(...most) && Exit.isSuccess(Effect.runSyncExit(checkMemory("train", config)))
  );
};
