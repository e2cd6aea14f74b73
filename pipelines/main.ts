/**
 * The package from code, as `millrace`: compose a run file, start a training, watch it, stop it, and put parts of one's own in place of the
 * usual ones. Everything else of this package may change without notice.
 */
import { Cause, Effect, Exit } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve, warn } from "../src/config/resolve.ts";
import type { Control } from "../src/domain/Control.ts";
import type { Group } from "../src/domain/Group.ts";
import type * as Run from "../src/engine/Run.ts";
import type { JudgedWindow } from "../src/engine/stages/filter.ts";
import type { LearnedWindow } from "../src/engine/stages/learn.ts";
import type { ScoreOutput } from "../src/engine/stages/score.ts";
import type * as Training from "../src/engine/Training.ts";
import type { AssembledWindow } from "../src/flow/WindowAssembler.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { namedRun } from "./namedRun.ts";
import { configDir } from "./paths.ts";
import { prepareConfig } from "./prepareRun.ts";
import { checkFile } from "./smallModel.ts";
import { type Parts, train } from "./train.ts";

export type { RunConfig } from "../src/config/RunConfig.ts";
export type { Control, Controller } from "../src/domain/Control.ts";
export {
  type Episode,
  type Outcome,
  penaltyOf,
  rewardOf,
  type Sequence,
  succeeded,
  type Turn,
  turnsOf,
} from "../src/domain/Episode.ts";
export { BadInput, EnvironmentError, LearnerError, PolicyError } from "../src/domain/Errors.ts";
export type { Event, StepRecord } from "../src/domain/Event.ts";
export type { Group, ScoredEpisode, ScoredGroup, ScoredWindow } from "../src/domain/Group.ts";
export type { RunState } from "../src/domain/RunState.ts";
export type { JudgedWindow as Judged } from "../src/engine/stages/filter.ts";
export type { LearnedWindow as Learned } from "../src/engine/stages/learn.ts";
export type { ScoreOutput as Scored } from "../src/engine/stages/score.ts";
export type { TrainingResult as Ended } from "../src/engine/Training.ts";
export * as Admission from "../src/flow/admission/Admission.ts";
export * as Pipeline from "../src/flow/Pipeline.ts";
export * as Stage from "../src/flow/Stage.ts";
export type { AssembledWindow as Assembled } from "../src/flow/WindowAssembler.ts";
export type { Sink } from "../src/observe/sinks/Sink.ts";
export type { Selection } from "../src/selection/filtering/filter.ts";
export { StoppedEarly } from "../src/support/process/Stop.ts";
export type { Parts } from "./train.ts";

/** What leaves each stage. Nothing leaves `close`; `generate` and `step` are services, and their answers are not part of this contract. */
export interface StageOutputs {
  readonly rollout: Group;
  readonly window: AssembledWindow;
  readonly score: ScoreOutput;
  readonly filter: JudgedWindow;
  readonly learn: LearnedWindow;
  readonly close: unknown;
  readonly generate: unknown;
  readonly step: unknown;
}
export type StageName = keyof StageOutputs;

/** One stage: its gauge, its concurrency and what leaves it. */
export interface StageView<out Out = unknown> extends Omit<Run.StageView<Out>, "setConcurrency"> {
  /** At least 1; a fraction is rounded down. Running work is finished first where it shrinks. */
  readonly setConcurrency: (concurrency: number) => void;
}

/** A training that has begun. */
export interface Running extends Omit<Run.Run, "stage" | "stop" | "control"> {
  readonly stage: <Name extends StageName>(name: Name) => StageView<StageOutputs[Name]>;
  /** Resolves when the run has ended, by itself or by a stop; rejects when it failed. */
  readonly ended: Promise<Training.TrainingResult>;
  /** Changes how the run goes on, with an event that says so. Rejects with BadInput where the control makes no sense. */
  readonly control: (control: Control, reason?: string) => Promise<void>;
  /** Asks for an orderly stop: what is in flight is finished, and a checkpoint written. */
  readonly stop: () => void;
}

/** What a failed effect threw, for promises. */
const thrown = (cause: Cause.Cause<unknown>): unknown => Cause.squash(cause);

/** A stage of the run, its concurrency set without Effect. */
const stageOf = (run: Run.Run) => {
  return <Name extends StageName>(name: Name): StageView<StageOutputs[Name]> => {
    const { out$, setConcurrency, ...view } = run.stage(name);
    return {
      ...view,
      // A stage is connected under its name once, with the results that StageOutputs lists.
      out$: out$ as Run.StageView<StageOutputs[Name]>["out$"],
      setConcurrency: (concurrency) => Effect.runSync(setConcurrency(concurrency)),
    };
  };
};

/** A run file by name (of those in the package) or path, with overrides `key.sub=value`. Rejects with BadInput. */
export const compose = (name: string, overrides: readonly string[] = []): Promise<RunConfig> =>
  Effect.runPromise(
    resolve(name, overrides, configDir).pipe(
      Effect.tap(warn),
      Effect.tap(checkFile),
      Effect.map(({ config }) => config),
    ),
  );

/** Trains after the checks that the command line makes, too. */
const checkedTrain = Effect.fnUntraced(function* (config: RunConfig, resume: string | null, parts: Parts) {
  const found = yield* prepareConfig("train", config);
  const folder = resume === null ? null : yield* namedRun("resume", resume);
  return yield* train({ config: found, resume: folder, parts });
});

export interface StartOptions extends Omit<Parts, "onStart"> {
  /** Folder of a run to go on with. */
  readonly resume?: string | null;
  /** False leaves the signals to the caller; by default the first one stops the run in order, the second ends the process. */
  readonly signals?: boolean;
}

/**
 * Starts a training and resolves once its first group may start. Rejects with BadInput,
 * PolicyError, LearnerError or EnvironmentError where it cannot begin, with
 * StoppedEarly where a signal came first.
 */
export const start = (
  config: RunConfig,
  { resume = null, signals = true, ...parts }: StartOptions = {},
): Promise<Running> =>
  new Promise((resolve, reject) => {
    let ended: Promise<Training.TrainingResult>;
    const onStart = (run: Run.Run) =>
      // A microtask later: `ended` is assigned by then, also where the run begins at once.
      queueMicrotask(() =>
        resolve({
          ...run,
          stage: stageOf(run),
          ended,
          control: (control, reason) => Effect.runPromise(run.control(control, "code", reason)),
          stop: () => void Effect.runPromise(run.stop),
        }),
      );
    const training = Effect.provide(
      checkedTrain(config, resume, { ...parts, onStart }),
      signals ? Stop.layer : Stop.layerWithoutSignals,
    );
    ended = Effect.runPromiseExit(training).then((exit) => {
      if (Exit.isSuccess(exit)) return exit.value;
      throw thrown(exit.cause);
    });
    // A run that cannot begin has no `ended` for anyone to wait for.
    ended.catch(reject);
  });
