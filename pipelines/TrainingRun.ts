/** A training as a caller of the package holds it: promises, iterables and rxjs streams in place of effects. */
import { Effect, Exit } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Control } from "../src/domain/Control.ts";
import type { StepRecord } from "../src/domain/Event.ts";
import type { Group } from "../src/domain/Group.ts";
import { type MetricKey, metricOf } from "../src/domain/metrics/Catalogue.ts";
import type { Metric } from "../src/domain/metrics/Metric.ts";
import { valueIn } from "../src/domain/metrics/Metrics.ts";
import type * as Run from "../src/engine/Run.ts";
import type { JudgedWindow } from "../src/engine/stages/filter.ts";
import type { LearnedWindow } from "../src/engine/stages/learn.ts";
import type { ScoreOutput } from "../src/engine/stages/score.ts";
import type * as Training from "../src/engine/Training.ts";
import type { AssembledWindow } from "../src/flow/WindowAssembler.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { heldItems } from "./heldItems.ts";
import { namedRun } from "./namedRun.ts";
import { prepareConfig } from "./prepareRun.ts";
import { thrownBy } from "./promises.ts";
import { type Parts, train } from "./train.ts";

/** The items that leave each stage. Nothing leaves `close`; answers of `generate` and `step` are not part of this contract. */
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

/** The name of a stage. */
export type StageName = keyof StageOutputs;

/** One stage: its gauge, its concurrency and what leaves it. */
export interface StageView<out Out = unknown> extends Omit<Run.StageView<Out>, "setConcurrency"> {
  /** At least 1; a fraction is rounded down. Running work is finished first where it shrinks. */
  readonly setConcurrency: (concurrency: number) => void;
}

/** One step of a training, as a line of `metrics.jsonl` has it. */
export interface Step extends StepRecord {
  /** The value of a metric; undefined where this step did not measure it. A name that the catalogue lacks does not compile. */
  readonly get: (metric: MetricKey | Metric) => number | undefined;
}

/** A training that has begun. */
export interface TrainingRun extends Omit<Run.Run, "stage" | "stop" | "control">, AsyncDisposable {
  /**
   * The steps from the first on, for one reader; the last 1 000 are held for a reader that comes late. Ends with the run, and throws the
   * error of a run that failed.
   */
  readonly steps: AsyncIterable<Step>;
  /** A stage by name. */
  readonly stage: <Name extends StageName>(name: Name) => StageView<StageOutputs[Name]>;
  /** Resolves when the run has ended, by itself or by a stop; rejects when it failed. */
  readonly ended: Promise<Training.TrainingResult>;
  /** Changes how the run goes on, with an event that says so. Rejects with BadInput where the control makes no sense. */
  readonly control: (control: Control, reason?: string) => Promise<void>;
  /** Asks for an orderly stop: what is in flight is finished, and a checkpoint written. */
  readonly stop: () => void;
  /** Stops the run and waits for its end. Never rejects: `ended` says how it ended. `await using` does the same. */
  readonly close: () => Promise<void>;
}

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

const stepOf = (record: StepRecord): Step => ({
  ...record,
  get: (metric) => valueIn(record.metrics, typeof metric === "string" ? metricOf(metric) : metric),
});

/** The steps of a run, held until they are read. */
const stepsOf = ({ steps$ }: Run.Run, ended: Promise<unknown>): AsyncIterable<Step> => {
  const { items, push } = heldItems<Step>(ended);
  steps$.subscribe((record) => push(stepOf(record)));
  return items;
};

const runOf = (run: Run.Run, ended: Promise<Training.TrainingResult>): TrainingRun => {
  const stop = () => void Effect.runPromise(run.stop);
  const close = async () => {
    stop();
    await ended.catch(() => undefined);
  };
  return {
    ...run,
    steps: stepsOf(run, ended),
    stage: stageOf(run),
    ended,
    control: (control, reason) => Effect.runPromise(run.control(control, "code", reason)),
    stop,
    close,
    [Symbol.asyncDispose]: close,
  };
};

/** Trains after the checks that the command line makes, too. */
const checkedTrain = Effect.fnUntraced(function* (config: RunConfig, resume: string | null, parts: Parts) {
  const prepared = yield* prepareConfig("train", config);
  const folder = resume === null ? null : yield* namedRun("resume", resume);
  return yield* train({ config: prepared, resume: folder, parts });
});

/** Options of a start: a run to resume, parts of one's own, and who handles signals. */
export interface StartOptions extends Omit<Parts, "onStart"> {
  /** Folder of a run to go on with. */
  readonly resume?: string | null;
  /** False leaves the signals to the caller; by default the first one stops the run in order, the second ends the process. */
  readonly signals?: boolean;
}

/**
 * Starts a training and resolves once its first group may start. Rejects with BadInput, PolicyError, LearnerError or EnvironmentError where it
 * cannot begin, and with StoppedEarly where a signal came first.
 *
 * @deprecated Call `train`, which takes the run file and these options.
 */
export const start = (
  config: RunConfig,
  { resume = null, signals = true, ...parts }: StartOptions = {},
): Promise<TrainingRun> =>
  new Promise((resolve, reject) => {
    let ended: Promise<Training.TrainingResult>;
    // A microtask later `ended` is assigned, also where the run begins at once.
    const onStart = (run: Run.Run) => queueMicrotask(() => resolve(runOf(run, ended)));
    const training = Effect.provide(
      checkedTrain(config, resume, { ...parts, onStart }),
      signals ? Stop.layer : Stop.layerWithoutSignals,
    );
    ended = Effect.runPromiseExit(training).then((exit) => {
      if (Exit.isSuccess(exit)) return exit.value;
      throw thrownBy(exit.cause);
    });
    // A run that cannot begin has no `ended` for anyone to wait for.
    ended.catch(reject);
  });
