/**
 * Validation: the same instances every time, played by one pinned weights version. Invariant: no token of a validation is sampled by
 * another version.
 */
import { Effect } from "effect";
import { groupsOf } from "../config/levels.ts";
import { timed } from "../domain/Instant.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { timing } from "../domain/metrics/run.ts";
import { Bus } from "../flow/Bus.ts";
import { spanned } from "../flow/spanned.ts";
import { RunFolder } from "../observe/record/RunFolder.ts";
import * as Sampled from "../observe/record/sampled.ts";
import * as Trajectories from "../observe/record/Trajectories.ts";
import * as Validations from "../observe/record/Validations.ts";
import * as Pinned from "../rollout/pinned.ts";
import * as Rollout from "../rollout/Rollout.ts";
import * as Seeds from "../rollout/seeds.ts";
import { environmentMetrics, validationShares } from "../rollout/statistics.ts";
import { Stop } from "../support/process/Stop.ts";
import { Config, RolloutSetup } from "./RunContext.ts";
import { awaitStopped, isStalled } from "./stops.ts";

/** Plays a validation after `step`; its episodes and outcomes go to the run's folder. */
const playAfter = Effect.fnUntraced(function* (step: number) {
  const config = yield* Config;
  const bus = yield* Bus;
  const folder = yield* RunFolder;
  const { rollout, wrapStart } = yield* RolloutSetup;
  const { position, validations } = bus.state();
  const val = groupsOf(config, "val");
  const outcome = yield* Pinned.play(config, rollout, position.version, {
    size: val.group_size,
    mode: (version) => {
      const mode = Rollout.validationMode(config, version);
      return step === 0 ? { ...mode, wrapEpisode: wrapStart } : mode;
    },
    // The round keeps the sequences of two validations of a run apart.
    prompts: (version) => Seeds.validation(val, validations, version),
    progress: (done, total) => bus.emit({ _tag: "Validating", step, done, of: total }),
  });
  const metrics = environmentMetrics("val-env", outcome.groups);
  yield* bus.emit({ _tag: "Validated", step, ...validationShares(metrics) });
  yield* Validations.append(folder, step, outcome);
  const records = Sampled.validationRecords(outcome.groups, step, config.trainer.validation_episodes, rollout.pieces);
  yield* Trajectories.append(folder, records);
  if (records.length > 0) yield* bus.publishEpisodes(records);
  return metrics;
});

/** Validation after `step` as metrics; none once a stop is asked for or the run has stalled. */
export const validate = Effect.fnUntraced(function* (step: number) {
  const stop = yield* Stop;
  const validation = Effect.map(
    timed(spanned(playAfter(step), "validation", { step })),
    ([metrics, seconds]): Metrics => mergeMetrics(metrics, metricsFrom([timing.testing, seconds])),
  );
  const stopped = Effect.raceFirst(stop.requested, awaitStopped(isStalled));
  return yield* Effect.raceFirst(Effect.as(stopped, metricsFrom()), validation);
});
