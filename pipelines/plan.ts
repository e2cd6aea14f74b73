/**
 * The plan command, and the check of every training run before it starts a thread: what the run will hold of memory, against what there is.
 * Of the model only config.json is read, and the size of its tokenizer's file. Invariant: nothing is run but, where asked for, the probe.
 */
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Console, Effect } from "effect";
import { generatorDevice, learnerDevice } from "../src/config/devices.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { readModelConfig } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { readDescription } from "../src/model/checkpoint/PeftFolder.ts";
import { measure } from "../src/model/runtime/MachineUnit.ts";
import { currentLimits, type MemoryLimit } from "../src/support/process/memoryLimits.ts";
import { Models } from "../src/tools/planning/Models.ts";
import { expectedPeak, type Plan, plan, type Question } from "../src/tools/planning/Plan.ts";
import { planLines, refusalLines } from "./planLines.ts";

/** What is off in a prediction: a run is refused that is above the limit by more (docs/plan.md). */
const MARGIN = 1.1;

/** The lowest limit of memory, where the system has any. */
export const lowestLimit = (limits: readonly MemoryLimit[]): MemoryLimit | null =>
  limits.filter(({ resource }) => resource === "memory").sort((a, b) => a.bytes - b.bytes)[0] ?? null;

/** Whether a plan's peak is above a limit by more than a prediction may be off. */
export const exceeds = ({ peak }: Pick<Plan, "peak">, limit: MemoryLimit | null): limit is MemoryLimit =>
  limit !== null && peak > MARGIN * limit.bytes;

/** Whether all of a run's memory is the host's: what a device or another runtime holds is not counted. */
const isPlannable = ({ model }: RunConfig): boolean =>
  model.runtime === "onnx" && [generatorDevice(model), learnerDevice(model)].every(({ kind }) => kind === "cpu");

const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

const questionOf = Effect.fnUntraced(function* (config: RunConfig) {
  const { config: decoder } = yield* Effect.mapError(
    readModelConfig(config.model.path),
    ({ message }) => new BadInput({ message }),
  );
  const { adapter: folder, path } = config.model;
  const adapter =
    folder === ""
      ? undefined
      : yield* Effect.mapError(readDescription(folder), ({ message }) => new BadInput({ message }));
  const tokenizerBytes = bytesOf(join(path, "tokenizer.json"));
  const of = adapter === undefined ? decoder : { ...decoder, adapter };
  const question: Question = { config, decoder: of, tokenizerBytes, unit: null };
  return question;
});

/**
 * Fails with BadInput, the plan as its message, where a training run cannot fit; `run.memory_check` decides. Where a part of its memory is not
 * the host's, it only warns.
 */
export const checkPlan = Effect.fnUntraced(function* (config: RunConfig) {
  const { memory_check } = config.run;
  if (memory_check === "off") return;
  const limit = lowestLimit(currentLimits());
  if (limit === null) return;
  const question = yield* questionOf(config);
  const models = new Models();
  if (!exceeds({ peak: expectedPeak(question, models) }, limit)) return;
  const made = plan(question, models);
  const message = refusalLines(made, limit, process.stderr.columns ?? 100).join("\n");
  if (memory_check === "refuse" && isPlannable(config)) return yield* new BadInput({ message });
  yield* Effect.logWarning(message);
});

export interface PlanOptions {
  /** With the model's absolute path. */
  readonly config: RunConfig;
  readonly json: boolean;
  readonly probe: boolean;
}

/** Prints the plan; fails with BadInput where `checkPlan` would. */
export const planned = Effect.fnUntraced(function* ({ config, json, probe }: PlanOptions) {
  const question = yield* questionOf(config);
  const unit = probe ? { ...(yield* Effect.promise(measure)), cores: availableParallelism() } : null;
  const made = plan({ ...question, unit });
  const limit = lowestLimit(currentLimits());
  yield* Console.log(
    json
      ? JSON.stringify({ ...made, limit, fits: !exceeds(made, limit) }, null, 2)
      : planLines(made, limit, process.stdout.columns ?? 100).join("\n"),
  );
  if (config.run.memory_check === "refuse" && isPlannable(config) && exceeds(made, limit)) {
    return yield* new BadInput({ message: refusalLines(made, limit, 100)[0] ?? "" });
  }
});
