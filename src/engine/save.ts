/** Writes the run's state and the learner's as a checkpoint. Invariant: only at a step boundary. */
import { Effect } from "effect";
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

/** Saves the closed step, unless it is saved already; the seconds it took, as a metric. */
export const saveCheckpoint = Effect.gen(function* () {
  const { es_manager, trainer } = yield* Config;
  const bus = yield* Bus;
  const learner = yield* Learner;
  const readings = yield* Readings;
  const { checkpoints } = yield* RunFolder;
  const state = bus.state();
  if (state.checkpoint?.step === state.step) return metricsFrom();
  // A run that goes on from this checkpoint finds the events before it.
  yield* bus.flushed;
  const startSeconds = readings.seconds();
  const resumable = { ...RunState.toCheckpoint(state, es_manager.train.env_groups), seconds: startSeconds };
  const saving = Checkpoints.save(checkpoints, resumable, trainer.max_checkpoints, learner.save);
  const folder = yield* spanned(saving, "checkpoint", { step: state.step });
  yield* bus.emit({ _tag: "CheckpointWritten", step: state.step, folder });
  return metricsFrom([timing.saving, readings.seconds() - startSeconds]);
});
