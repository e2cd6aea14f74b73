/**
 * The closing stage: records a step, validates and saves where due. `learn` waits for it, so that a checkpoint is a step boundary. Invariant:
 * the ledger balances at every step; a checkpoint never stands before the record of its step.
 */
import { Clock, Effect, Result } from "effect";
import * as EarlyStops from "../../domain/EarlyStops.ts";
import { idsOf } from "../../domain/Group.ts";
import * as Ledger from "../../domain/Ledger.ts";
import { type Metrics, measured, together } from "../../domain/metrics/Metrics.ts";
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
import { saveCheckpoint } from "../save.ts";
import * as Validation from "../Validation.ts";
import type { DiagnosedWindow } from "./learn.ts";

const isDue = (frequency: number, step: number): boolean => frequency > 0 && step % frequency === 0;

/** Why the run's own rules end it with this step, by more of its metrics; null where it goes on, or ends anyway. */
const earlyStopReason = Effect.fnUntraced(function* (step: number, metrics: Metrics) {
  const { trainer } = yield* Config;
  const bus = yield* Bus;
  const admitter = yield* Admitter;
  const seen = EarlyStops.observe(trainer, bus.state().seen, step, metrics);
  if (seen !== bus.state().seen) yield* bus.emit({ _tag: "Watched", seen });
  return admitter.isLast(step) ? null : EarlyStops.due(trainer, seen);
});

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const { trainer } = config;
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const admitter = yield* Admitter;
  const readings = yield* Readings;
  const folder = yield* RunFolder;
  const { rollout } = yield* RolloutSetup;

  /** A validation that is due where nothing was trained is played after the next update. */
  const validate = Effect.fnUntraced(function* (step: number, trained: boolean, last: boolean) {
    const isWanted = isDue(trainer.test_freq, step) || bus.state().validationDue;
    if ((isWanted && trained) || (trainer.val_at_end && last)) return yield* Validation.validate(step);
    if (isWanted) yield* bus.emit({ _tag: "ValidationPostponed", step });
    return measured();
  });

  let saveMetrics: Metrics = measured();
  const close = Effect.fnUntraced(
    function* (learned: DiagnosedWindow) {
      const { failed, groups, index, refilled } = learned.window;
      const step = index + 1;
      const balanced = Ledger.assertBalanced(bus.state().ledger);
      if (Result.isFailure(balanced)) return yield* Effect.die(balanced.failure);
      const now = yield* readings.read;
      const metrics = StepRecord.make(learned, now, readings.last() ?? now);
      const isEnding = (yield* earlyStopReason(step, metrics)) !== null || admitter.isLast(step);
      const validationMetrics = yield* validate(step, learned.report !== null, isEnding);
      const reason = yield* earlyStopReason(step, validationMetrics);
      if (reason !== null) yield* bus.emit({ _tag: "Stopped", reason });
      const time = yield* Clock.currentTimeMillis;
      const stopMetrics = EarlyStops.metrics(bus.state().reason);
      const levels = yield* Alarms.watch(step, together(metrics, validationMetrics), groups);
      yield* bus.record({
        step,
        time,
        metrics: together(metrics, validationMetrics, saveMetrics, stopMetrics, levels),
      });
      const records = Sampled.windowRecords(config, learned, rollout.pieces);
      yield* Trajectories.append(folder, records);
      if (records.length > 0) yield* bus.publishEpisodes(records);
      const groupIds = idsOf([...groups, ...failed]);
      const refillCount = refilled > 0 ? { refilled } : {};
      const shares = { ...refillCount, ...failedShare("train", metrics), seconds: readings.seconds() };
      yield* bus.emit({ _tag: "StepClosed", step, groups: groupIds, ...shares });
      const failure = NotFiniteFailure.trainingFailure(config, bus.state().skipped, learned.report?.untrained ?? null);
      if (failure !== null) {
        // Skipped updates change nothing, so that this step can be gone on from too, unless the learner refuses to save its weights.
        yield* Effect.ignore(saveCheckpoint);
        return yield* failure;
      }
      // What a save took is in the record of the step after.
      const { checkpointDue, seen } = bus.state();
      saveMetrics =
        isDue(trainer.save_freq, step) || checkpointDue || seen.best?.step === step
          ? yield* saveCheckpoint
          : measured();
      // The next step's times start here: what closing this one took is no part of them.
      yield* readings.markStep;
    },
    (closing, { window }) => spanned(closing, "close", { step: window.index + 1 }),
  );

  return registry.add(yield* Stage.flow({ name: "close", inbox: 1, concurrency: 1, handover: "done", run: close }));
});
