/**
 * The sft pipeline: clones the episodes of solvers, and conversations of the user's, so that a policy has something to improve on, and writes
 * a Hugging Face folder.
 * Validation instances of every source are left out by content. The run's folder holds its configuration and its newest checkpoint: a run
 * that was stopped goes on from there, to the same bits as one that was not.
 */
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Console, Effect } from "effect";
import { isLearnerRemote } from "../src/config/checks/learner.ts";
import { withLevels } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import type { Episode } from "../src/domain/Episode.ts";
import { BadInput, type EnvironmentError, type LearnerError } from "../src/domain/Errors.ts";
import { stream } from "../src/domain/Random.ts";
import { prepareAll } from "../src/env/contract/prepare.ts";
import * as LearnerThread from "../src/learner/LearnerThread.ts";
import * as NotFiniteFailure from "../src/learner/NotFiniteFailure.ts";
import { trainerOptions } from "../src/learner/TrainerOptions.ts";
import { readCheckpoint, writeCheckpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { readAdapter, writeAdapter } from "../src/model/checkpoint/PeftFolder.ts";
import { write as writeTokenizerFiles } from "../src/model/checkpoint/TokenizerFiles.ts";
import { parameterCount } from "../src/model/graphs/Architecture.ts";
import * as Model from "../src/model/Model.ts";
import * as StartingModel from "../src/model/StartingModel.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import * as RunLock from "../src/observe/record/RunLock.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { fromPreset } from "../src/rollout/Task.ts";
import { openToolDialogues } from "../src/rollout/tools/openToolDialogues.ts";
import { replaceFolder } from "../src/support/files/AtomicWrite.ts";
import { damaged } from "../src/support/files/FileError.ts";
import * as Stop from "../src/support/process/Stop.ts";
import * as Cloning from "../src/tools/cloning/Cloning.ts";
import * as Checkpoints from "../src/tools/cloning/checkpoints.ts";
import type { Source } from "../src/tools/cloning/Demonstration.ts";
import { heldOut } from "../src/tools/cloning/heldOut.ts";
import { CloningLog } from "./cloningLog.ts";
import { conversations } from "./conversations.ts";
import { checkDevices, tellDevices } from "./devices.ts";
import { tellLoading } from "./loading.ts";
import { boundEnvironments, withInstances } from "./presets.ts";
import { printResult } from "./trainingEnd.ts";

export interface CloningOptions {
  readonly config: RunConfig;
  /** Folder of the run to go on with; a new one is made by default. */
  readonly resume?: string | null;
  /** Called once with the run's folder, when the first step may be taken. */
  readonly onStart?: (folder: string) => void;
  /** Called after each step. */
  readonly onStep?: (step: MeasuredStep) => void;
}

/** A step of cloning, with the loss that was measured behind it. */
export interface MeasuredStep extends Cloning.CloningStep {
  /** Loss of the conversations held out, nats per token; null where none was measured. */
  readonly heldOutLoss: number | null;
}

/** The result of a cloning. */
export interface ClonedModel {
  /** Folder of the run: its configuration, `sft.json` and checkpoints. */
  readonly folder: string;
  /** Folder of the model, or of the adapter where one is trained: `sft.output`, or the newest checkpoint of a run that was stopped. */
  readonly model: string;
  /** Optimiser steps taken. */
  readonly step: number;
  readonly reason: "complete" | "stopped";
}

/** A source of the run file with the episodes to take from it. */
type Sources = readonly (Source & { readonly tag: string; readonly episodes: number })[];

const unusable = ({ message }: { readonly message: string }) => Effect.fail(new BadInput({ message }));

/** The weights a new run starts from: a folder's, with the adapter to train where there is one, or fresh ones. */
const modelOf = ({ model, run, sft }: RunConfig) => {
  if (sft.init !== "random") {
    return Effect.andThen(tellLoading(sft.init), StartingModel.load(sft.init, model, run.seed));
  }
  if (model.lora.rank > 0 || model.adapter !== "") {
    const key = model.lora.rank > 0 ? `model.lora.rank: ${model.lora.rank}` : `model.adapter: ${model.adapter}`;
    const message = `${key}: an adapter stands beside a model, and sft.init=random has none; nearest: sft.init=${model.path}`;
    return Effect.fail(new BadInput({ message }));
  }
  return Model.randomModel(sft.architecture, stream({ seed: run.seed, purpose: "initialisation", counters: [] }));
};

const sourcesOf = Effect.fnUntraced(function* (config: RunConfig) {
  const environments = yield* boundEnvironments(
    config,
    config.sft.sources.map(({ tag }) => tag),
  );
  yield* prepareAll(environments);
  const presets = withLevels(config.custom_envs);
  return yield* Effect.forEach(
    config.sft.sources,
    Effect.fnUntraced(function* (source) {
      const environment = environments.get(source.tag);
      const preset = presets[source.tag];
      if (environment === undefined || preset === undefined) {
        return yield* new BadInput({ message: `sft.sources: ${source.tag} is no preset of custom_envs` });
      }
      if (environment.asynchronous) {
        const message = `sft.sources: ${source.tag} is backed by an external server and has no solver to clone`;
        return yield* new BadInput({ message });
      }
      return { ...source, environment, task: fromPreset(source.tag, preset, environment) };
    }),
  );
});

/** The episodes to clone, and a sentence on what was left out. */
const demonstrationsOf = Effect.fnUntraced(function* (config: RunConfig, sources: Sources, model: Model.Model) {
  if (sources.length === 0) return { episodes: [], summary: "no demonstrations" };
  const tasks = sources.map(({ task }) => task);
  const excluded = yield* withInstances("sft.sources", () => heldOut(sources, config.es_manager.val));
  const toolDialogues = yield* openToolDialogues(config, tasks, model.tokenizer);
  const demonstrator = {
    rollout: { ...Rollout.make(config, tasks, model.chat, model.tokenizer), toolDialogues },
    tokenizer: model.tokenizer,
    noise: config.sft.noise,
    seed: config.run.seed,
    excluded: (key: string) => excluded.has(key),
  };
  const { episodes, failures } = yield* Cloning.demonstrations(demonstrator, sources);
  const tags = sources.map(({ tag }) => tag).join(", ");
  const [first] = failures;
  const failed = first === undefined ? "" : `; ${failures.length} failed, the first: ${first.message}`;
  if (episodes.length === 0) {
    return yield* new BadInput({ message: `sft.sources: no demonstration of ${tags} is left to clone${failed}` });
  }
  const requested = sources.reduce((sum, source) => sum + source.episodes, 0);
  const none = requested - episodes.length - failures.length;
  const left = none === 0 ? "" : ` (${none} instances are validation's or have no solution)`;
  return { episodes, summary: `${episodes.length} demonstrations of ${tags}${left}${failed}` };
});

/** Writes the trained weights as a folder of a model, or of an adapter to `model`, without optimizer state. */
const publish = (learner: LearnerThread.LearnerThread, { checkpoint }: Model.Model, output: string) =>
  replaceFolder(output, (partial) =>
    Effect.gen(function* () {
      const state = join(partial, "learner");
      yield* Effect.promise(() => mkdir(state));
      yield* learner.save(state);
      if (checkpoint.adapter === undefined) {
        yield* writeCheckpoint(partial, yield* readCheckpoint(state));
      } else {
        const trained = yield* readAdapter(state, { ...checkpoint.config, adapter: undefined });
        yield* writeAdapter(partial, trained);
        yield* writeTokenizerFiles(partial, checkpoint.tokenizer);
      }
      yield* Effect.promise(() => rm(state, { recursive: true }));
    }),
  ).pipe(Effect.catchTag(["CheckpointError", "FileError"], unusable));

/** Says how many parameters a model has, and how many of an adapter are trained in their place. */
const trainedSize = ({ checkpoint: { adapter, parameters } }: Model.Model): string => {
  const all = `${parameterCount(parameters.specs)} parameters`;
  return adapter === undefined ? all : `${all} and ${parameterCount(adapter.parameters.specs)} of an adapter`;
};

/** Prints the loss of the conversations held out, where it is due; null where it is not. */
const heldOutLoss = Effect.fnUntraced(function* (
  learner: LearnerThread.LearnerThread,
  { batch_size, conversations: { val_freq }, steps }: RunConfig["sft"],
  heldOut: readonly Episode[],
  step: number,
) {
  const due = step === steps || (val_freq > 0 && step % val_freq === 0);
  if (heldOut.length === 0 || !due) return null;
  const loss = yield* Cloning.lossOf(learner, heldOut, batch_size);
  yield* Console.log(`step ${step}/${steps}  loss of the conversations held out ${loss.toFixed(4)}`);
  return loss;
});

/** Prints a twentieth of the steps, the first and the last, and each that was not applied. */
const reporter = (steps: number) => {
  const every = Math.max(1, Math.floor(steps / 20));
  return ({ step, loss, gradNorm, lr, notFinite }: Cloning.CloningStep) => {
    if (notFinite !== null) return Console.log(`step ${step}/${steps}  skipped, not finite: the policy's ${notFinite}`);
    return step % every === 0 || step === 1 || step === steps
      ? Console.log(
          `step ${step}/${steps}  loss ${loss.toFixed(4)}  grad_norm ${gradNorm.toFixed(2)}  lr ${lr.toExponential(2)}`,
        )
      : Effect.void;
  };
};

/** The learner's thread over a model; `restore` is the checkpoint to go on from. A checkpoint that it cannot read is bad input. */
const learnerOf = (config: RunConfig, { checkpoint }: Model.Model, restore?: string) =>
  LearnerThread.make({
    checkpoint,
    trainer: trainerOptions(config),
    ...(restore === undefined ? {} : { restore }),
  }).pipe(Effect.catchIf(({ reason }) => reason === "bad_checkpoint", unusable));

/** The model and learner of a run's newest checkpoint, and how many steps they have taken; `settle` makes the folder ready to go on in. */
const resumeNewest = Effect.fnUntraced(function* (
  config: RunConfig,
  { checkpoints }: typeof RunFolder.RunFolder.Service,
) {
  const { adapter, lora } = config.model;
  const start = lora.rank > 0 || adapter !== "" ? yield* modelOf(config) : null;
  const load = ({ path, progress }: Checkpoints.CloningCheckpoint) =>
    Effect.gen(function* () {
      yield* tellLoading(path);
      const model = start === null ? yield* Model.load(path) : yield* StartingModel.loadResumed(start, path);
      return { model, learner: yield* learnerOf(config, model, path), path, progress };
    }).pipe(Effect.catchTag("BadInput", ({ message }) => Effect.fail(damaged(path, message))));
  const { loaded, cleanUp } = yield* Checkpoints.newest(checkpoints, load).pipe(
    Effect.catchTag(["CheckpointError", "FileError"], unusable),
  );
  return { ...loaded, settle: cleanUp };
});

/** The run's folder, locked while the scope lives. */
const locked = <E, R>(folder: Effect.Effect<typeof RunFolder.RunFolder.Service, E, R>) =>
  Effect.tap(folder, ({ path }) => RunLock.hold(path));

/** Clones until all steps are taken or a stop is asked for. */
export const runCloning = ({ config, onStart, onStep, resume = null }: CloningOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { steps } = config.sft;
      if (isLearnerRemote(config.model)) {
        const { engine } = config.model.learner;
        const message = `model.learner.engine: ${engine}: sft clones in this process and writes the weights here; nearest: local`;
        return yield* new BadInput({ message });
      }
      const output = resolve(config.sft.output);
      const existing = resume === null ? null : yield* locked(RunFolder.open(resume));
      yield* RunFolder.makeParent(output);
      yield* Model.checkReplaceable("sft.output", output);
      const past = existing === null ? null : yield* resumeNewest(config, existing);
      const model = past?.model ?? (yield* modelOf(config));
      yield* Model.checkContext(config, model);
      yield* checkDevices(config, ["learner"]);
      yield* tellDevices(config, ["learner"], model.checkpoint);
      const sources = yield* sourcesOf(config);
      const stop = yield* Stop.Stop;
      const recordedConversations = yield* conversations(config, model);
      const { episodes: demonstrated, summary } = yield* demonstrationsOf(config, sources, model);
      const episodes = [...demonstrated, ...recordedConversations.training];
      const size = `${trainedSize(model)}, ${model.tokenizer.vocabSize} tokens`;
      yield* Console.log(`${size}; ${summary}`);
      for (const sentence of recordedConversations.sentences) yield* Console.log(sentence);

      // The folder comes last: a run that cannot begin leaves none.
      const learner = past?.learner ?? (yield* learnerOf(config, model));
      let hasBegun = false;
      const folder =
        existing ??
        (yield* locked(RunFolder.createScoped({ ...config.run, resolvedConfig: render(config) }, () => hasBegun)));
      if (past !== null) {
        yield* Effect.catchTag(past.settle, "FileError", unusable);
        yield* RunFolder.replaceConfig(folder, render(config));
      }
      let saved = past?.path ?? null;
      const record = yield* CloningLog.open(folder.path, config, past?.progress.step ?? 0);
      yield* record.write(null);
      hasBegun = true;
      const stopWaiter = yield* Effect.forkScoped(stop.requested);
      const said = reporter(steps);
      onStart?.(folder.path);
      const done = yield* Cloning.clone(learner, episodes, config, {
        from: past?.progress ?? { step: 0, skipped: null },
        stopped: Effect.sync(() => stopWaiter.pollUnsafe() !== undefined),
        report: Effect.fnUntraced(function* (step) {
          yield* said(step);
          const loss = yield* heldOutLoss(learner, config.sft, recordedConversations.heldOut, step.step);
          record.addStep(step, loss);
          onStep?.({ ...step, heldOutLoss: loss });
        }),
        save: Effect.fnUntraced(function* (progress) {
          const written = Checkpoints.save(folder.checkpoints, progress, learner.save);
          saved = yield* Effect.catchTag(written, "CheckpointError", unusable);
          yield* record.write(null);
        }),
      }).pipe(
        Effect.catchTag("LearnerError", (error) => Effect.fail(NotFiniteFailure.learnerFailure(error, saved))),
        Effect.tapError(({ message }) => Effect.ignore(record.write("failed", message))),
      );
      if (done < steps) {
        yield* record.write("stopped");
        yield* Console.log(`stopped after ${done} steps; millrace sft --resume ${folder.path} goes on`);
      } else {
        yield* publish(learner, model, output);
        yield* record.write("completed");
      }
      const isComplete = done >= steps;
      const cloned: ClonedModel = {
        folder: folder.path,
        model: isComplete ? output : (saved ?? output),
        step: done,
        reason: isComplete ? "complete" : "stopped",
      };
      return cloned;
    }),
  );

/** Clones, and says at the end what came of it and which commands go on from there. */
export const sft = (
  options: CloningOptions,
): Effect.Effect<void, BadInput | LearnerError | EnvironmentError | Stop.StoppedEarly, Stop.Stop> =>
  Effect.flatMap(runCloning(options), ({ folder, reason }) =>
    reason === "complete" ? printResult(folder) : Effect.void,
  );
