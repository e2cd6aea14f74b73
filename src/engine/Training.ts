/**
 * A training run from its first admitted group to its last checkpoint. Invariants: a checkpoint is a step boundary; a stop drops only what
 * it cannot finish, and the dropped seeds are issued again by the run that resumes.
 */
import { Clock, Effect, Latch } from "effect";
import type { Version } from "../domain/Episode.ts";
import { mergeMetrics } from "../domain/metrics/Metrics.ts";
import type * as RunState from "../domain/RunState.ts";
import { Bus } from "../flow/Bus.ts";
import * as Sampler from "../flow/Sampler.ts";
import * as Stall from "../flow/Stall.ts";
import { spanned } from "../flow/spanned.ts";
import { Policy } from "../generation/Policy.ts";
import * as NotFiniteFailure from "../learner/NotFiniteFailure.ts";
import { RunFolder, truncateEpisodes } from "../observe/record/RunFolder.ts";
import * as Alarms from "../rollout/alarms.ts";
import { Stop } from "../support/process/Stop.ts";
import * as Usage from "../support/process/Usage.ts";
import * as Line from "./Line.ts";
import * as MemoryPressure from "./MemoryPressure.ts";
import { Readings } from "./Readings.ts";
import { Config, RolloutSetup } from "./RunContext.ts";
import * as Stops from "./stops.ts";
import * as Validation from "./Validation.ts";

/** The end of a training: how far it came, why it ended, and its newest checkpoint. */
export interface TrainingResult {
  readonly step: number;
  readonly version: Version;
  readonly reason: RunState.RunState["reason"];
  /** Newest checkpoint. */
  readonly checkpoint: string | null;
}

/** Suspends until the first window's episodes have slots or wait for them. If workers play them, it suspends until a group is finished. */
const awaitFirstWindow = Effect.gen(function* () {
  const bus = yield* Bus;
  const { firstWindowBegun } = yield* RolloutSetup;
  const finished = Latch.makeUnsafe(false);
  const subscribe = Effect.sync(() =>
    bus.onEvent(({ _tag }) => {
      if (_tag === "Finished") finished.openUnsafe();
    }),
  );
  yield* Effect.acquireUseRelease(
    subscribe,
    () => Effect.raceFirst(firstWindowBegun, finished.await),
    (unsubscribe) => Effect.sync(unsubscribe),
  );
});

/** Step 0, unless the run has it: the starting weights are validated. The first window is rolled out before and trained on meanwhile. */
const validateStart = Effect.gen(function* () {
  const { trainer } = yield* Config;
  const bus = yield* Bus;
  const { step, validations } = bus.state();
  if (!trainer.val_before_train || step > 0 || validations > 0) return;
  const stop = yield* Stop;
  yield* Effect.raceFirst(stop.requested, awaitFirstWindow);
  const metrics = yield* Validation.validate(0);
  if (metrics.size === 0) return;
  const levels = yield* Alarms.watch(0, metrics, []);
  yield* bus.record({ step: 0, time: yield* Clock.currentTimeMillis, metrics: mergeMetrics(metrics, levels) });
});

const train = Effect.gen(function* () {
  const bus = yield* Bus;
  const readings = yield* Readings;
  const isStartClosed = Latch.makeUnsafe(false);
  const line = yield* Line.make(isStartClosed.await);
  const training = Effect.gen(function* () {
    // A resumed run's episodes are cut back to its checkpoint.
    if (bus.state().checkpoint !== null) yield* truncateEpisodes(yield* RunFolder, bus.state().step);
    yield* readings.markStep;
    const steps = Effect.all(
      [
        Effect.andThen(validateStart, isStartClosed.open),
        Effect.raceAllFirst([line.run, Stops.awaitExternalStop(line), Stops.awaitEarlyStop(line)]),
      ],
      { concurrency: "unbounded", discard: true },
    );
    yield* Stops.unlessStalled(line, Effect.andThen(steps, Stops.dropAndSave));
  });
  const savedFolder = () => bus.state().checkpoint?.folder ?? null;
  yield* Effect.catchTags(training, {
    LearnerError: (error) => Effect.fail(NotFiniteFailure.learnerFailure(error, savedFolder())),
    PolicyError: (error) => Effect.fail(NotFiniteFailure.policyFailure(error, savedFolder())),
  });
  const { checkpoint, position, reason, step } = bus.state();
  const result: TrainingResult = { step, version: position.version, reason, checkpoint: checkpoint?.folder ?? null };
  return result;
});

/** Trains while the gauges are sampled, memory is watched and stalls are reported. The autotuner starts before the sampler, so it sees the first sample. */
const trainObserved = Effect.gen(function* () {
  const config = yield* Config;
  const { metrics, pipeline } = config;
  const usage = yield* Effect.acquireRelease(Effect.sync(Usage.usageMeter), (meter) =>
    Effect.sync(() => meter[Symbol.dispose]()),
  );
  const generated = (yield* Policy).gauges;
  const observers = [
    ...(pipeline.autotune ? [(yield* Effect.promise(() => import("../tools/tuning/autotuner.ts"))).ofRun(config)] : []),
    Sampler.run(metrics.sample_ms, usage.read),
    MemoryPressure.ofRun,
    Stall.watch(pipeline.stall_ms, generated),
    Stall.abort(pipeline.stall_abort_ms, generated, config.agent.outside),
  ];
  const observing = Effect.all(observers, { concurrency: "unbounded", discard: true });
  return yield* Effect.raceFirst(train, Effect.andThen(observing, Effect.never));
}).pipe(Effect.scoped);

/** Trains until the last window is consumed, or until the run is stopped: by a person, or by one of its own rules. */
export const run = spanned(trainObserved, "train");
