/**
 * The closing stage: records a step, validates and saves where due. `learn` waits for it, so that a checkpoint is a step boundary. Invariant:
 * the ledger balances at every step; a checkpoint never stands before the record of its step.
 */
import { Clock, Effect, Result } from "effect";
import * as EarlyStops from "../../domain/EarlyStops.ts";
import { idsOf } from "../../domain/Group.ts";
import * as Ledger from "../../domain/Ledger.ts";
import { type Metrics, measured, together } from "../../domain/metrics/Metrics.ts";
import { Gate } from "../../flow/admission/Gate.ts";
import { Bus } from "../../flow/Bus.ts";
import { Dials } from "../../flow/Dials.ts";
import * as Stage from "../../flow/Stage.ts";
import { spanned } from "../../flow/spanned.ts";
import * as NotFiniteFailure from "../../learner/NotFiniteFailure.ts";
import { RunFolder } from "../../observe/record/RunFolder.ts";
import * as Sampled from "../../observe/record/sampled.ts";
import * as Trajectories from "../../observe/record/Trajectories.ts";
import * as Alarms from "../../rollout/alarms.ts";
import { failedShare } from "../../rollout/statistics.ts";
import { Config } from "../Config.ts";
import { Episodes } from "../Episodes.ts";
import { Moments } from "../Moments.ts";
import * as StepRecord from "../StepRecord.ts";
import { save } from "../save.ts";
import * as Validation from "../Validation.ts";
import type { Diagnosed } from "./learn.ts";

const due = (frequency: number, step: number): boolean => frequency > 0 && step % frequency === 0;

/** Why the run's own rules end it with this step, by more of its metrics; null where it goes on, or ends anyway. */
const watch = Effect.fnUntraced(function* (step: number, metrics: Metrics) {
  const { trainer } = yield* Config;
  const bus = yield* Bus;
  const gate = yield* Gate;
  const seen = EarlyStops.observe(trainer, bus.state().seen, step, metrics);
  if (seen !== bus.state().seen) yield* bus.emit({ _tag: "Watched", seen });
  return gate.isLast(step) ? null : EarlyStops.due(trainer, seen);
});

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const { trainer } = config;
  const bus = yield* Bus;
  const dials = yield* Dials;
  const gate = yield* Gate;
  const moments = yield* Moments;
  const folder = yield* RunFolder;
  const { rollout } = yield* Episodes;

  /** A validation that is due where nothing was trained is played after the next update. */
  const validate = Effect.fnUntraced(function* (step: number, trained: boolean, last: boolean) {
    const wanted = due(trainer.test_freq, step) || bus.state().validationDue;
    if ((wanted && trained) || (trainer.val_at_end && last)) return yield* Validation.validate(step);
    if (wanted) yield* bus.emit({ _tag: "ValidationPostponed", step });
    return measured();
  });

  let saved: Metrics = measured();
  const close = Effect.fnUntraced(
    function* (learned: Diagnosed) {
      const { failed, groups, index, refilled } = learned.window;
      const step = index + 1;
      const balanced = Ledger.assertBalanced(bus.state().ledger);
      if (Result.isFailure(balanced)) return yield* Effect.die(balanced.failure);
      const now = yield* moments.now;
      const metrics = StepRecord.make(learned, now, moments.last() ?? now);
      const ending = (yield* watch(step, metrics)) !== null || gate.isLast(step);
      const validated = yield* validate(step, learned.report !== null, ending);
      const reason = yield* watch(step, validated);
      if (reason !== null) yield* bus.emit({ _tag: "Stopped", reason });
      const time = yield* Clock.currentTimeMillis;
      const stopped = EarlyStops.metrics(bus.state().reason);
      const levels = yield* Alarms.watch(step, together(metrics, validated), groups);
      yield* bus.record({ step, time, metrics: together(metrics, validated, saved, stopped, levels) });
      const records = Sampled.windowRecords(config, learned, rollout.pieces);
      yield* Trajectories.append(folder, records);
      if (records.length > 0) yield* bus.show(records);
      const all = idsOf([...groups, ...failed]);
      const asked = refilled > 0 ? { refilled } : {};
      const part = { ...asked, ...failedShare("train", metrics), seconds: moments.seconds() };
      yield* bus.emit({ _tag: "StepClosed", step, groups: all, ...part });
      const failure = NotFiniteFailure.trainingFailure(config, bus.state().skipped, learned.report?.untrained ?? null);
      if (failure !== null) {
        // Skipped updates change nothing, so that this step can be gone on from too, unless the learner refuses to save its weights.
        yield* Effect.ignore(save);
        return yield* failure;
      }
      // What a save took is in the record of the step after.
      const { checkpointDue, seen } = bus.state();
      saved = due(trainer.save_freq, step) || checkpointDue || seen.best?.step === step ? yield* save : measured();
      // The next step's times start here: what closing this one took is no part of them.
      yield* moments.mark;
    },
    (closing, { window }) => spanned(closing, "close", { step: window.index + 1 }),
  );

  return dials.add(yield* Stage.flow({ name: "close", inbox: 1, concurrency: 1, handover: "done", run: close }));
});
