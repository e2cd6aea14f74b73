/**
 * The plan command, and the check of every run before it opens a model: what the run will hold of memory, and reserve of address space, against
 * what there is. Invariant: nothing is run but, where asked for, the probe.
 */
import { availableParallelism } from "node:os";
import { Console, Effect, Result } from "effect";
import { generatorDevice, learnerDevice } from "../src/config/devices.ts";
import { playersOf, singlePlayerConfigs } from "../src/config/players.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { measure } from "../src/model/runtime/MachineSpeed.ts";
import { currentLimits, type MemoryLimit } from "../src/support/process/memoryLimits.ts";
import { Models } from "../src/tools/planning/Models.ts";
import { expectedPeak, type Plan, plan } from "../src/tools/planning/Plan.ts";
import { lowestLimit } from "./addressSpace.ts";
import type { PipelineName } from "./pipelineName.ts";
import { planLines, refusalLines } from "./planLines.ts";
import { plannedRun } from "./plannedRun.ts";

/** Predictions may be off by this factor: only a run that exceeds the limit by more is refused (docs/plan.md). */
const MARGIN = 1.1;

/** True where a plan's peak exceeds the limit by more than a prediction may be off. */
export const exceeds = ({ peak }: Pick<Plan, "peak">, limit: MemoryLimit | null): limit is MemoryLimit =>
  limit !== null && peak > MARGIN * limit.bytes;

/** True where all of a run's memory is the host's. A plan counts nothing that a device or another runtime allocates. */
const isPlannable = ({ model }: RunConfig): boolean =>
  model.runtime === "onnx" && [generatorDevice(model), learnerDevice(model)].every(({ kind }) => kind === "cpu");

/** The run files whose memory a pipeline takes, one after the other: an evaluation's checkpoints in turn, and none for an endpoint. */
const parts = (pipeline: PipelineName, config: RunConfig): readonly RunConfig[] => {
  if (pipeline !== "evaluate") return [config];
  const players = playersOf(config);
  return singlePlayerConfigs(config).filter((_, index) => players[index]?._tag === "Checkpoint");
};

/**
 * Fails with BadInput, the plan as its message, where a run cannot fit; `run.memory_check` decides. Where a part of its memory is not the host's, it
 * only warns.
 */
export const checkMemory = Effect.fnUntraced(function* (pipeline: PipelineName, config: RunConfig) {
  const { memory_check } = config.run;
  const limit = lowestLimit(currentLimits());
  if (memory_check === "off" || limit === null) return;
  for (const part of parts(pipeline, config)) {
    // An evaluation says more of a folder that it cannot read.
    const found = yield* Effect.result(plannedRun(pipeline, part));
    if (Result.isFailure(found) && pipeline === "evaluate") continue;
    const run = yield* Effect.fromResult(found);
    const models = new Models();
    if (!exceeds({ peak: expectedPeak(run, models) }, limit)) continue;
    const message = refusalLines(plan(run, { models }), limit, process.stderr.columns ?? 100).join("\n");
    if (memory_check === "refuse" && isPlannable(part)) return yield* new BadInput({ message });
    yield* Effect.logWarning(message);
  }
});

/** Says of variations of a training run's settings whether each fits into memory. */
export const withFittingThreads = Effect.fnUntraced(function* (config: RunConfig) {
  const limit = lowestLimit(currentLimits());
  const run = yield* plannedRun("train", config);
  const models = new Models();
  return (varied: RunConfig): boolean =>
    limit === null || expectedPeak({ ...run, config: varied }, models) <= limit.bytes;
});

export interface PlanOptions {
  /** With the model's absolute path. */
  readonly config: RunConfig;
  readonly pipeline: PipelineName;
  readonly json: boolean;
  readonly probe: boolean;
}

/** Prints the plan; fails with BadInput where `checkMemory` would for memory. */
export const printPlan = Effect.fnUntraced(function* ({ config, json, pipeline, probe }: PlanOptions) {
  const run = yield* plannedRun(pipeline, config);
  const unit =
    probe && pipeline === "train" ? { ...(yield* Effect.promise(measure)), cores: availableParallelism() } : null;
  const memoryPlan = plan(run, { unit });
  const limit = lowestLimit(currentLimits());
  yield* Console.log(
    json
      ? JSON.stringify({ ...memoryPlan, limit, fits: !exceeds(memoryPlan, limit) }, null, 2)
      : planLines(memoryPlan, limit, process.stdout.columns ?? 100).join("\n"),
  );
  if (config.run.memory_check === "refuse" && isPlannable(config) && exceeds(memoryPlan, limit)) {
    return yield* new BadInput({ message: refusalLines(memoryPlan, limit, 100)[0] ?? "" });
  }
});
