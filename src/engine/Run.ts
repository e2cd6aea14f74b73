/**
 * A run as others see it while it goes on: its records, events and samples, and the results of each stage, as rxjs streams. They may drop,
 * and nothing in the run waits for them.
 */
import { Effect, type Scope } from "effect";
import { BehaviorSubject, type Observable, Subject, switchMap } from "rxjs";
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

/** The run that follows `first`, and each that comes after it. */
export const follow = (first: Run): FollowedRun => {
  const runs = new BehaviorSubject(first);
  const current = (): Run => runs.getValue();
  const along = <A>(stream: (run: Run) => Observable<A>): Observable<A> => runs.pipe(switchMap(stream));
  const stage = (name: string): StageView => {
    const { most } = current().stage(name);
    return {
      name,
      most,
      concurrency: () => current().stage(name).concurrency(),
      sample: () => current().stage(name).sample(),
      setConcurrency: (concurrency) => Effect.suspend(() => current().stage(name).setConcurrency(concurrency)),
      out$: along((run) => run.stage(name).out$),
    };
  };
  const run: Run = {
    steps$: along(({ steps$ }) => steps$),
    events$: along(({ events$ }) => events$),
    samples$: along(({ samples$ }) => samples$),
    episodes$: along(({ episodes$ }) => episodes$),
    folder: first.folder,
    state: () => current().state(),
    stages: () => current().stages(),
    stage,
    control: (control, by, reason) => Effect.suspend(() => current().control(control, by, reason)),
    stop: Effect.suspend(() => current().stop),
  };
  return { run, next: (next) => runs.next(next), end: () => runs.complete() };
};
