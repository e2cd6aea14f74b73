/**
 * Plays a schedule: the run, and the run that resumes it where the schedule ends it early. Invariant: equal schedules and orders give equal
 * events, at equal virtual times.
 */
import { Effect, Exit, Latch } from "effect";
import { startingLag } from "../../src/config/fixedLag.ts";
import { startingSampler } from "../../src/config/taskSampler.ts";
import { LearnerError } from "../../src/domain/Errors.ts";
import type { Event } from "../../src/domain/Event.ts";
import * as RunState from "../../src/domain/RunState.ts";
import { type Observed, type Options, resume, runFolder, train } from "../engine/fakes.ts";
import { draws, ofOrder, type Schedule } from "./Schedule.ts";
import { SeededRuntime } from "./SeededRuntime.ts";

/** An event with the virtual time at which it was emitted. */
export interface TimedEvent {
  readonly at: number;
  readonly event: Event;
}

/** One start of a run, to its end. */
export interface Life {
  readonly events: readonly TimedEvent[];
  /** The observations of the fakes; null if the run was interrupted or failed. */
  readonly observed: Observed | null;
  /** The failure of a run that was not made to fail; null where there is none. */
  readonly failure: string | null;
  /** Windows consumed before this start. */
  readonly from: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Virtual milliseconds within which every run of these schedules ends, with much to spare. */
const deadlineMs = 1_000_000;

type LifeOptions = Pick<Options, "folder" | "resumed">;

/** Applies the schedule's controls and its end as events come. */
const disturbances = ({ controls, end }: Schedule, runtime: SeededRuntime, interrupt: () => void) => {
  let seen = 0;
  const onEvent: NonNullable<Options["onEvent"]> = (_, stop, apply) => {
    const index = seen++;
    for (const { at, control, pauseMs } of controls) {
      if (at !== index) continue;
      apply(control);
      if (control._tag === "PauseAdmission") runtime.after(1 + pauseMs, () => apply({ _tag: "ResumeAdmission" }));
    }
    if (end.at !== index) return;
    if (end.kind === "stop") stop();
    if (end.kind === "stop_control") apply({ _tag: "Stop" });
    if (end.kind === "interrupt") interrupt();
  };
  return onEvent;
};

const live = Effect.fnUntraced(function* (schedule: Schedule, runtime: SeededRuntime, options: LifeOptions) {
  const { adoptMs, config, end, fates, notFinite, updateMs } = schedule;
  const interrupted = Latch.makeUnsafe(false);
  const disturb = disturbances(schedule, runtime, () => void interrupted.openUnsafe());
  const events: TimedEvent[] = [];
  const startedAt = runtime.now();
  const error = new LearnerError({ reason: "session_failed", message: "the schedule fails this update" });
  const failUpdate = end.kind === "failed_update" ? { failUpdate: { at: end.at, error } } : {};
  const all: Options = {
    ...options,
    ...{ adoptMs, config, fates, notFinite, updateMs },
    ...failUpdate,
    onEvent: (event, stop, apply) => {
      events.push({ at: runtime.now(), event });
      disturb(event, stop, apply);
    },
  };
  const start = options.resumed === undefined ? resume(all) : train(all);
  const exit = yield* Effect.exit(Effect.scoped(Effect.raceFirst(start, Effect.as(interrupted.await, null))));
  const isForced = end.kind === "failed_update" && Exit.isFailure(exit) && String(exit.cause).includes(error.message);
  const first = events[0]?.event;
  const life: Life = {
    events,
    observed: Exit.isSuccess(exit) ? exit.value : null,
    failure: Exit.isFailure(exit) && !isForced ? String(exit.cause) : null,
    from: first?._tag === "Resumed" ? first.step : 0,
    startedAt,
    endedAt: runtime.now(),
  };
  return life;
});

const lastCheckpoint = ({ events }: Life): number | null =>
  events.reduce<number | null>((last, { event }) => (event._tag === "CheckpointWritten" ? event.step : last), null);

/** The lives of a schedule's run, played in the given order of fibers. */
export const play = (schedule: Schedule, order = 0): Promise<Exit.Exit<readonly Life[], unknown>> => {
  const random = draws(schedule.seed, ofOrder + order);
  const runtime = new SeededRuntime({ random, yieldEvery: schedule.yieldEvery, deadlineMs });
  const program = Effect.gen(function* () {
    const folder = yield* runFolder;
    const resumed = RunState.startUnder(startingLag(schedule.config), startingSampler(schedule.config));
    const first = yield* live(schedule, runtime, { folder, resumed });
    const checkpoint = lastCheckpoint(first);
    const isDone = checkpoint === schedule.config.trainer.total_training_steps;
    if (first.failure !== null || checkpoint === null || isDone) return [first];
    const undisturbed: Schedule = { ...schedule, controls: [], end: { kind: "none", at: 0 } };
    const second = yield* live(undisturbed, runtime, { folder });
    return [first, { ...second, from: checkpoint }];
  });
  return runtime.run(Effect.scoped(program));
};
