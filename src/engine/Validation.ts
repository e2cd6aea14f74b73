/**
 * Validation: the same instances every time, played by one pinned weights version. Invariant: no token of a validation is sampled by
 * another version.
 */
import { Effect } from "effect";
import { cacheRows } from "../config/mostSlots.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { succeeded, type Version } from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";
import { episodes } from "../domain/metrics/episodes.ts";
import { type Metrics, measured, together, valueIn } from "../domain/metrics/Metrics.ts";
import { timing } from "../domain/metrics/run.ts";
import { Policy } from "../policy/generation/Policy.ts";
import { Stop } from "../process/Stop.ts";
import { appendLine, RunFolder } from "../record/RunFolder.ts";
import * as Sampled from "../record/sampled.ts";
import * as Trajectories from "../record/Trajectories.ts";
import * as GroupProgram from "../rollout/group.ts";
import * as Rollout from "../rollout/Rollout.ts";
import * as Seeds from "../rollout/seeds.ts";
import { environmentMetrics } from "../rollout/statistics.ts";
import { Bus } from "../stage/Bus.ts";
import { spanned } from "../stage/spanned.ts";
import { timed } from "../stage/timed.ts";
import { Config } from "./Config.ts";
import { Episodes } from "./Episodes.ts";

export interface Validated {
  readonly version: Version;
  readonly groups: readonly Group[];
  readonly metrics: Metrics;
}

/**
 * Plays all validation instances by the newest weights. `round` keeps the sequences of two validations of a run apart; `progress` is called
 * with how many groups of how many are done.
 */
export const play = (
  config: RunConfig,
  rollout: Rollout.Rollout,
  round: number,
  progress: (done: number, of: number) => Effect.Effect<void> = () => Effect.void,
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { val } = config.es_manager;
      const policy = yield* Policy;
      const version = yield* policy.hold;
      const mode = Rollout.validating(config, version);
      const atOnce = Math.max(1, Math.floor(cacheRows(config) / val.group_size));
      const prompts = Seeds.validation(val, round, version);
      let done = 0;
      const groups = yield* Effect.forEach(
        prompts,
        (prompt) =>
          Effect.tap(GroupProgram.play(rollout, mode, prompt), () =>
            Effect.suspend(() => progress(++done, prompts.length)),
          ),
        { concurrency: atOnce },
      );
      const validated: Validated = { version, groups, metrics: environmentMetrics("val-env", groups) };
      return validated;
    }),
  );

/** One line per validation: the outcome of every episode in instance order, so that two validations can be paired. */
export const toJson = (step: number, { version, groups }: Validated) => ({
  step,
  version,
  success: groups.flatMap(({ episodes }) => episodes.map((episode) => (succeeded(episode) ? 1 : 0))),
});

/** Plays a validation after `step`; its episodes and outcomes go to the run's folder. */
const playAfter = Effect.fnUntraced(function* (step: number) {
  const config = yield* Config;
  const bus = yield* Bus;
  const folder = yield* RunFolder;
  const { rollout } = yield* Episodes;
  const policy = yield* Policy;
  const { position, validations } = bus.state();
  yield* policy.awaitVersion(position.version);
  const progress = (done: number, of: number) => bus.emit({ _tag: "Validating", step, done, of });
  const validated = yield* play(config, rollout, validations, progress);
  const success = valueIn(validated.metrics, episodes.success.of({ split: "val-env" }));
  yield* bus.emit({ _tag: "Validated", step, ...(success === undefined ? {} : { success }) });
  yield* appendLine(folder.validations, toJson(step, validated));
  const records = Sampled.ofValidation(validated.groups, step, config.trainer.validation_episodes, rollout.pieces);
  yield* Trajectories.append(folder, records);
  if (records.length > 0) yield* bus.show(records);
  return validated.metrics;
});

/** Validation after `step` as metrics; none once a stop is asked for. */
export const validate = Effect.fnUntraced(function* (step: number) {
  const stop = yield* Stop;
  const tested = Effect.map(
    timed(spanned(playAfter(step), "validation", { step })),
    ([metrics, seconds]): Metrics => together(metrics, measured([timing.testing, seconds])),
  );
  return yield* Effect.raceFirst(Effect.as(stop.requested, measured()), tested);
});
