/** Writes the run's state and the learner's as a checkpoint. Invariant: only at a step boundary. */
import { Effect } from "effect";
import { refillNumbers } from "../config/refillNumbers.ts";
import { CheckpointSpaceError } from "../domain/Errors.ts";
import { metricsFrom } from "../domain/metrics/Metrics.ts";
import { timing } from "../domain/metrics/run.ts";
import * as RunState from "../domain/RunState.ts";
import { Bus } from "../flow/Bus.ts";
import { spanned } from "../flow/spanned.ts";
import { Learner } from "../learner/Learner.ts";
import * as Checkpoints from "../observe/record/Checkpoints.ts";
import { RunFolder } from "../observe/record/RunFolder.ts";
import { Readings } from "./Readings.ts";
import { Config } from "./RunContext.ts";

/** Saves the closed step, unless it is saved already; the seconds it took, as a metric. Fails with CheckpointSpaceError on a full disk. */
export const saveCheckpoint = Effect.gen(function* () {
  const config = yield* Config;
  const { es_manager, trainer } = config;
  const bus = yield* Bus;
  const learner = yield* Learner;
  const readings = yield* Readings;
  const { checkpoints } = yield* RunFolder;
  const state = bus.state();
  if (state.checkpoint?.step === state.step) return metricsFrom();
  // A run that goes on from this checkpoint finds the events before it.
  yield* bus.flushed;
  const startSeconds = readings.seconds();
  const resumable = {
    ...RunState.toCheckpoint(state, es_manager.train.env_groups, refillNumbers(config)),
    seconds: startSeconds,
  };
  const saving = Checkpoints.save(checkpoints, resumable, trainer.max_checkpoints, learner.save);
  const folder = yield* spanned(saving, "checkpoint", { step: state.step });
  yield* bus.emit({ _tag: "CheckpointWritten", step: state.step, folder });
  return metricsFrom([timing.saving, readings.seconds() - startSeconds]);
});

/** Saves the closed step; a full disk skips the save, and the run goes on. */
export const saveIfRoom = Effect.catchTag(saveCheckpoint, "CheckpointSpaceError", ({ message }) =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    yield* bus.emit({ _tag: "CheckpointSkipped", step: bus.state().step, reason: message });
    return metricsFrom();
  }),
);

/** Saves the last step of a run. A full disk fails the run, because its newest checkpoint lacks the last steps. */
export const saveLast = Effect.catchTag(saveCheckpoint, "CheckpointSpaceError", ({ message }) =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const { checkpoint, step } = bus.state();
    yield* bus.emit({ _tag: "CheckpointSkipped", step, reason: message });
    const newest = checkpoint === null ? "there is none before it" : `the newest one is ${checkpoint.folder}`;
    return yield* new CheckpointSpaceError({
      message: `the last checkpoint, of step ${step}, could not be written: ${message}; ${newest}`,
    });
  }),
);
