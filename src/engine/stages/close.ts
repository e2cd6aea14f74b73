/**
 * The closing stage records a step, validates and saves where due. `learn` waits for it, so that a checkpoint is a step boundary. Invariants:
 * the ledger balances at every step; a checkpoint is written after the record of its step.
 */
import { Clock, Effect, Result } from "effect";
import { isFixedLag } from "../../config/fixedLag.ts";
import * as EarlyStops from "../../domain/EarlyStops.ts";
import { idsOf } from "../../domain/Group.ts";
import * as Ledger from "../../domain/Ledger.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { Admitter } from "../../flow/admission/Admitter.ts";
import { Bus } from "../../flow/Bus.ts";
import * as Stage from "../../flow/Stage.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import { spanned } from "../../flow/spanned.ts";
import * as NotFiniteFailure from "../../learner/NotFiniteFailure.ts";
import { RunFolder } from "../../observe/record/RunFolder.ts";
import * as Sampled from "../../observe/record/sampled.ts";
import * as Trajectories from "../../observe/record/Trajectories.ts";
import * as Alarms from "../../rollout/alarms.ts";
import { failedShare } from "../../rollout/statistics.ts";
import { Readings } from "../Readings.ts";
import { Config, RolloutSetup } from "../RunContext.ts";
import * as StepRecord from "../StepRecord.ts";
import { saveIfRoom } from "../save.ts";
import * as Validation from "../Validation.ts";
import type { DiagnosedWindow } from "./learn.ts";

const isDue = (frequency: number, step: number): boolean => frequency > 0 && step % frequency === 0;

/** The rule of the run that ends it with this step, by some of the step's metrics; null where it goes on, or ends anyway. */
const earlyStopReason = Effect.fnUntraced(function* (step: number, metrics: Metrics) {
  const { trainer } = yield* Config;
  const bus = yield* Bus;
  const admitter = yield* Admitter;
  const seen = EarlyStops.observe(trainer, bus.state().seen, step, metrics);
  if (seen !== bus.state().seen) yield* bus.emit({ _tag: "Watched", seen });
  return admitter.isLast(step) ? null : EarlyStops.stopReason(trainer, seen);
});

/**
 * Plays a validation where one is due. One that falls due in a step without an update, or is cut by a stop, is played after the next update.
 */
const validateIfDue = Effect.fnUntraced(function* (step: number, isTrained: boolean, isEnding: boolean) {
  const { trainer } = yield* Config;
  const bus = yield* Bus;
  const isValidationDue = isDue(trainer.test_freq, step) || bus.state().validationDue;
  const isPlayed = (isValidationDue && isTrained) || (trainer.val_at_end && isEnding);
  const metrics = isPlayed ? yield* Validation.validate(step) : metricsFrom();
  if (isValidationDue && metrics.size === 0) yield* bus.emit({ _tag: "ValidationPostponed", step });
  return metrics;
});

/** The stage. Its first step waits until `startClosed` is done. */
export const make = Effect.fnUntraced(function* (startClosed: Effect.Effect<void>) {
  const config = yield* Config;
  const { trainer } = config;
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const admitter = yield* Admitter;
  const readings = yield* Readings;
  const folder = yield* RunFolder;
  const { rollout } = yield* RolloutSetup;

  /** Metrics of the newest checkpoint; they go into the record of the step after it. */
  let saveMetrics: Metrics = metricsFrom();
  const close = Effect.fnUntraced(
    function* (learned: DiagnosedWindow) {
      const { failed, groups, index, refilled } = learned.window;
      const step = index + 1;
      const balance = Ledger.checkBalance(bus.state().ledger);
      if (Result.isFailure(balance)) return yield* Effect.die(balance.failure);
      const reading = yield* readings.read;
      const stepMetrics = StepRecord.make(config, learned, reading, readings.last() ?? reading);
      yield* startClosed;
      const isStopping = EarlyStops.endsAtOnce(isFixedLag(config))(bus.state().reason);
      const isEnding = isStopping || (yield* earlyStopReason(step, stepMetrics)) !== null || admitter.isLast(step);
      const validationMetrics = yield* validateIfDue(step, learned.report?.applied === true, isEnding);
      const reason = yield* earlyStopReason(step, validationMetrics);
      if (reason !== null) yield* bus.emit({ _tag: "Stopped", reason });
      const time = yield* Clock.currentTimeMillis;
      const stopMetrics = EarlyStops.metrics(bus.state().reason);
      const alarmLevels = yield* Alarms.watch(step, mergeMetrics(stepMetrics, validationMetrics), groups);
      const metrics = mergeMetrics(stepMetrics, validationMetrics, saveMetrics, stopMetrics, alarmLevels);
      yield* bus.record({ step, time, metrics });
      const records = Sampled.windowRecords(config, learned, rollout.pieces);
      yield* Trajectories.append(folder, records);
      if (records.length > 0) yield* bus.publishEpisodes(records);
      yield* bus.emit({
        _tag: "StepClosed",
        step,
        groups: idsOf([...groups, ...failed]),
        ...(refilled > 0 ? { refilled } : {}),
        ...failedShare("train", stepMetrics),
        seconds: readings.seconds(),
      });
      const failure = NotFiniteFailure.trainingFailure(config, bus.state().skipped, learned.report?.untrained ?? null);
      if (failure !== null) {
        // Skipped updates change nothing, so a run can resume from this step, unless the learner refuses to save its weights.
        yield* Effect.ignore(saveIfRoom);
        return yield* failure;
      }
      const { checkpointDue, seen } = bus.state();
      const isSaveDue = isDue(trainer.save_freq, step) || checkpointDue || seen.best?.step === step;
      saveMetrics = isSaveDue ? yield* saveIfRoom : metricsFrom();
      // The next step's times start after this one is closed.
      yield* readings.markStep;
    },
    (closing, { window }) => spanned(closing, "close", { step: window.index + 1 }),
  );

  return registry.add(yield* Stage.flow({ name: "close", inbox: 1, concurrency: 1, handover: "done", run: close }));
});
