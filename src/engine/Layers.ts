/**
 * The services of a run, wired: all that a training run needs over its policy, learner, environments and step pool. What a run goes on from
 * is its state.
 */
import { Effect, identity, Latch, Layer } from "effect";
import { groupsOf } from "../config/levels.ts";
import { cacheRows, groupsInFlight } from "../config/maxPermits.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { refillNumbers } from "../config/refillNumbers.ts";
import { weighingOf } from "../config/taskSampler.ts";
import type { RunState } from "../domain/RunState.ts";
import type { Rules } from "../flow/admission/Admission.ts";
import * as Admitter from "../flow/admission/Admitter.ts";
import * as Barrier from "../flow/admission/Barrier.ts";
import * as Permits from "../flow/admission/Permits.ts";
import * as Bus from "../flow/Bus.ts";
import * as StageRegistry from "../flow/StageRegistry.ts";
import * as Controls from "../observe/control/Controls.ts";
import { RunFolder } from "../observe/record/RunFolder.ts";
import * as ContentKeys from "../rollout/contentKeys.ts";
import * as Rollout from "../rollout/Rollout.ts";
import * as Seeds from "../rollout/seeds.ts";
import * as Refill from "../selection/filtering/refill.ts";
import * as Readings from "./Readings.ts";
import { Config, RolloutSetup } from "./RunContext.ts";
import * as ServiceStages from "./ServiceStages.ts";

export interface RunOptions {
  readonly config: RunConfig;
  readonly folder: typeof RunFolder.Service;
  readonly state: RunState;
  readonly rollout: Rollout.Rollout;
}

const rulesOf = (config: RunConfig): Rules => ({
  mode: config.pipeline.mode,
  groups: config.es_manager.train.env_groups,
  maxStaleness: config.pipeline.max_staleness,
  windows: config.trainer.total_training_steps,
  refills: Refill.isOn(config.filter.refill),
  refillNumbers: refillNumbers(config),
});

/** Counts calls of `increment`; `reached` resolves at call number `count`. */
const countTo = (count: number) => {
  const reached = Latch.makeUnsafe(false);
  let calls = 0;
  const increment = (): void => {
    if (++calls === count) reached.openUnsafe();
  };
  return { increment, reached: reached.await };
};

/**
 * Training leaves validation's instances out. In lockstep a barrier counts its episodes, else the slots bound them, oldest groups first. The
 * first step waits for its window and for the validation before it, so these two come before windows of later steps.
 */
const episodes = (config: RunConfig, rollout: Rollout.Rollout) =>
  Layer.effect(
    RolloutSetup,
    Effect.gen(function* () {
      const mode = Rollout.trainingMode(config, yield* ContentKeys.validationContentKeys(config));
      const barrier = config.pipeline.mode === "lockstep" ? yield* Barrier.make : null;
      const inTurn = Permits.limitTo(cacheRows(config));
      const { env_groups, group_size } = config.es_manager.train;
      const first = Math.min(env_groups, groupsInFlight(config)) * group_size;
      const { increment, reached } = countTo(first);
      const wrapEpisode: Rollout.PlayMode["wrapEpisode"] =
        barrier === null
          ? (episode, urgent) => inTurn(episode, urgent, increment)
          : (episode) => Effect.andThen(Effect.sync(increment), barrier.wrapEpisode(episode));
      return RolloutSetup.of({
        rollout,
        training: { ...mode, wrapEpisode },
        firstWindowBegun: reached,
        wrapStart: barrier === null ? (episode) => inTurn(episode, true) : identity,
        barrier,
      });
    }),
  );

export const layer = ({ config, folder, rollout, state }: RunOptions) => {
  const given = Layer.mergeAll(Layer.succeed(Config, config), Layer.succeed(RunFolder, folder));
  const base = Layer.mergeAll(Bus.layer(state), StageRegistry.layer, episodes(config, rollout));
  const drawLevel = Seeds.levelDrawer(groupsOf(config, "train"), weighingOf(config), config.run.seed);
  const admitter = Admitter.layer(rulesOf(config), drawLevel);
  const staged = Layer.mergeAll(admitter, Readings.layer, ServiceStages.layer, Controls.layer);
  return staged.pipe(Layer.provideMerge(base), Layer.provideMerge(given));
};
