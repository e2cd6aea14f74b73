/**
 * A run as others see it while it goes on: its records, events and samples, and the results of each stage, as rxjs streams. They may drop,
 * and nothing in the run waits for them.
 */
import { Effect, type Scope } from "effect";
import { BehaviorSubject, filter, type Observable, Subject, switchMap, take } from "rxjs";
import type { Control, Controller } from "../domain/Control.ts";
import { BadInput } from "../domain/Errors.ts";
import type { RunState } from "../domain/RunState.ts";
import { Bus } from "../flow/Bus.ts";
import type { StageHandle } from "../flow/Stage.ts";
import { StageRegistry } from "../flow/StageRegistry.ts";
import { Controls } from "../observe/control/Controls.ts";
import { RunFolder } from "../observe/record/RunFolder.ts";
import { Stop } from "../support/process/Stop.ts";
import { fromListeners, type Streams, streamsOf } from "./streams.ts";

/** One stage: its gauge and concurrency, and what leaves it. */
export interface StageView<out Out = unknown> extends Omit<StageHandle, "onOut"> {
  /** Every result of the stage, before it goes on. */
  readonly out$: Observable<Out>;
}

/** A run while it goes on, with effects in place of promises. */
export interface Run extends Streams {
  /** Path of the run's folder. */
  readonly folder: string;
  /** The state after all events so far. */
  readonly state: () => RunState;
  /** Names of the stages, in order; they are there once the run has begun. */
  readonly stages: () => readonly string[];
  /** Throws BadInput where there is no stage of this name. */
  readonly stage: (name: string) => StageView;
  /** Changes how the run goes on. Fails with BadInput where the control makes no sense. */
  readonly control: (control: Control, by: Controller, reason?: string) => Effect.Effect<void, BadInput>;
  /** Asks for an orderly stop. */
  readonly stop: Effect.Effect<void>;
}

/** The run of the current services; its streams complete with the scope. */
export const make: Effect.Effect<Run, never, Bus | Controls | StageRegistry | RunFolder | Stop | Scope.Scope> =
  Effect.gen(function* () {
    const bus = yield* Bus;
    const registry = yield* StageRegistry;
    const { path } = yield* RunFolder;
    const { request } = yield* Stop;
    const { apply } = yield* Controls;
    const ended = new Subject<void>();
    yield* Effect.addFinalizer(() => Effect.sync(() => ended.next()));
    const names = () => registry.stages().map(({ name }) => name);
    const stage = (name: string): StageView => {
      const stage = registry.stages().find((stage) => stage.name === name);
      if (stage === undefined) throw new BadInput({ message: `no stage ${name}; there are ${names().join(", ")}` });
      const { concurrency, most, sample, setConcurrency } = stage;
      return { name, concurrency, most, sample, setConcurrency, out$: fromListeners(stage.onOut, ended) };
    };
    return {
      ...streamsOf(bus, ended),
      folder: path,
      state: bus.state,
      stages: names,
      stage,
      control: apply,
      stop: request,
    };
  });

/** A run that is opened again: a caller holds one, and its streams go on with the next. */
export interface FollowedRun {
  readonly run: Run;
  /** The run as it was opened again. */
  readonly next: (run: Run) => void;
  /** Completes the streams. */
  readonly end: () => void;
}

/** The results of a stage. A run that has not begun has no stages: its first group is admitted before any of them has a result. */
const resultsOf = (run: Run, name: string): Observable<unknown> => {
  const hasStage = (): boolean => run.stages().includes(name);
  return hasStage()
    ? run.stage(name).out$
    : run.events$.pipe(
        filter(hasStage),
        take(1),
        switchMap(() => run.stage(name).out$),
      );
};

/** The run that follows `initial`, and each that comes after it. */
export const follow = (initial: Run): FollowedRun => {
  const runs = new BehaviorSubject(initial);
  const current = (): Run => runs.getValue();
  const along = <A>(stream: (run: Run) => Observable<A>): Observable<A> => runs.pipe(switchMap(stream));
  const stage = (name: string): StageView => {
    let latest = current().stage(name);
    /** The stage of the current run; until that has begun, of the run before. */
    const view = (): StageView => {
      if (current().stages().includes(name)) latest = current().stage(name);
      return latest;
    };
    return {
      name,
      most: latest.most,
      concurrency: () => view().concurrency(),
      sample: () => view().sample(),
      setConcurrency: (concurrency) => Effect.suspend(() => view().setConcurrency(concurrency)),
      out$: along((run) => resultsOf(run, name)),
    };
  };
  const run: Run = {
    steps$: along(({ steps$ }) => steps$),
    events$: along(({ events$ }) => events$),
    samples$: along(({ samples$ }) => samples$),
    episodes$: along(({ episodes$ }) => episodes$),
    folder: initial.folder,
    state: () => current().state(),
    stages: () => current().stages(),
    stage,
    control: (control, by, reason) => Effect.suspend(() => current().control(control, by, reason)),
    stop: Effect.suspend(() => current().stop),
  };
  return { run, next: (next) => runs.next(next), end: () => runs.complete() };
};
