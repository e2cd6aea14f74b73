/**
 * The ends of a run before its last step: a stop from outside, a rule of its own, and a stall. Invariant: a stop ends at a step boundary;
 * a stalled run waits for no fiber that does not answer, and saves only where the learner stands at the closed step.
 */
import { Cause, Effect, Exit, Fiber, Latch, Option } from "effect";
import { isFixedLag } from "../config/fixedLag.ts";
import * as EarlyStops from "../domain/EarlyStops.ts";
import { RunStalled } from "../domain/Errors.ts";
import * as RunState from "../domain/RunState.ts";
import { atOnce, Bus } from "../flow/Bus.ts";
import type * as Stage from "../flow/Stage.ts";
import { Stop } from "../support/process/Stop.ts";
import { Config } from "./RunContext.ts";
import { saveCheckpoint, saveLast } from "./save.ts";

/** The stages of a connected line that a stop asks. */
interface StoppableLine {
  readonly stages: {
    readonly learn: Pick<Stage.Flow<never, unknown>, "halt">;
    readonly close: Pick<Stage.StageHandle, "sample">;
  };
}

export const isStalled = (reason: string): boolean => reason === "stalled";

/** Suspends until the run has stopped for a reason that `isAwaited` picks. */
export const awaitStopped = Effect.fnUntraced(function* (isAwaited: (reason: string) => boolean) {
  const bus = yield* Bus;
  if (isAwaited(bus.state().reason)) return;
  const stopped = Latch.makeUnsafe(false);
  const unsubscribe = bus.onEvent((event) => {
    if (event._tag === "Stopped" && isAwaited(event.reason)) stopped.openUnsafe();
  });
  yield* Effect.ensuring(stopped.await, Effect.sync(unsubscribe));
});

/** Suspends until a stop is requested, closes admission, and ends the step once `stop_deadline_ms` has passed. A line that is done sooner wins. */
export const awaitExternalStop = Effect.fnUntraced(function* ({ stages }: StoppableLine) {
  const { es_manager, pipeline } = yield* Config;
  const bus = yield* Bus;
  const stop = yield* Stop;
  yield* stop.requested;
  yield* atOnce(Effect.suspend(() => bus.emit(RunState.stopEvent(bus.state(), es_manager.train.env_groups))));
  yield* Effect.sleep(pipeline.stop_deadline_ms);
  yield* bus.emit({ _tag: "Stopped", reason: "deadline" });
  // An update that has begun is finished and recorded, so that the run ends at a step boundary.
  yield* stages.learn.halt;
});

/** Suspends until a rule of the run's own ends it, and the step is closed. Invariant: no window after it is trained on. */
export const awaitEarlyStop = Effect.fnUntraced(function* ({ stages }: StoppableLine) {
  yield* awaitStopped(EarlyStops.endsAtOnce(isFixedLag(yield* Config)));
  yield* stages.learn.halt;
});

const dropInFlight = Effect.gen(function* () {
  const bus = yield* Bus;
  const dropped = RunState.dropEvent(bus.state());
  if (dropped !== null) yield* bus.emit(dropped);
});

/** Drops the groups in flight and saves the closed step. */
export const dropAndSave = Effect.andThen(dropInFlight, saveLast);

/** Milliseconds that interrupted work may take to let go of what it holds; then nobody waits for it any more. */
const INTERRUPT_MS = 5_000;

/** Saves the closed step of a stalled run; returns what its checkpoint lacks, or null where it lacks nothing. */
const saveStalled = Effect.fnUntraced(function* (isUpdating: boolean, limitMs: number) {
  const bus = yield* Bus;
  const { checkpoint, position, step } = bus.state();
  if (checkpoint?.step === step) return isUpdating ? "the update in progress is lost" : null;
  if (isUpdating || position.consumed !== step) return `the learner is past step ${step} and can no longer save it`;
  const saved = yield* Effect.exit(Effect.timeoutOption(saveCheckpoint, limitMs));
  if (Exit.isFailure(saved)) {
    const error = Cause.squash(saved.cause);
    return `step ${step} could not be saved (${error instanceof Error ? error.message : String(error)})`;
  }
  return Option.isNone(saved.value) ? `the learner has not saved step ${step} in ${limitMs / 1000} s` : null;
});

/**
 * Runs `work`, which moves windows along the line. Once the run stalls, a step that is being closed may end, `work` is interrupted, and the
 * closed step is saved; both may take `stall_abort_ms` again. Then it fails with `RunStalled`. At 0 no run stalls, and `work` runs as it is.
 */
export const unlessStalled = Effect.fnUntraced(function* <E, R>(
  { stages }: StoppableLine,
  work: Effect.Effect<void, E, R>,
) {
  const { pipeline } = yield* Config;
  if (pipeline.stall_abort_ms === 0) return yield* work;
  const bus = yield* Bus;
  let message = "";
  let learning = -1;
  bus.onEvent((event) => {
    if (event._tag === "Learning") learning = event.window;
    if (event._tag === "Stopped" && isStalled(event.reason)) message = event.message ?? "nothing happened for long";
  });
  // Detached, so that the end of a stalled run need not wait for it.
  const working = yield* Effect.forkDetach(work, { startImmediately: true });
  const ended = yield* Effect.raceFirst(Fiber.await(working), Effect.as(awaitStopped(isStalled), null)).pipe(
    Effect.onInterrupt(() => Fiber.interrupt(working)),
  );
  if (ended !== null) return yield* ended;
  const limitMs = pipeline.stall_abort_ms;
  if (stages.close.sample().running > 0) yield* Effect.timeoutOption(stages.learn.halt, limitMs);
  yield* Effect.timeoutOption(Fiber.interrupt(working), INTERRUPT_MS);
  yield* dropInFlight;
  const isUpdating = learning >= bus.state().position.consumed;
  const unsaved = yield* saveStalled(isUpdating, limitMs);
  const { checkpoint } = bus.state();
  const newest = checkpoint === null ? "there is no checkpoint" : `the newest checkpoint is ${checkpoint.folder}`;
  return yield* new RunStalled({ message: [message, unsaved, newest].filter((part) => part !== null).join("; ") });
});
