/** The run file and the rollout setup of the current run, as services that its stages read. */
import { Context, type Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Barrier } from "../flow/admission/Barrier.ts";
import type { PlayMode, Rollout } from "../rollout/Rollout.ts";

/** The run file, decoded. */
export class Config extends Context.Service<Config, RunConfig>()("millrace/engine/Config") {}

export class RolloutSetup extends Context.Service<
  RolloutSetup,
  {
    readonly rollout: Rollout;
    /** The mode in which training's episodes are played. */
    readonly training: PlayMode;
    /** Suspends until the first window's episodes, as many as may be in flight, have begun or wait for slots in this process. */
    readonly firstWindowBegun: Effect.Effect<void>;
    /** Lets episodes of the validation before the first step play before windows of later steps, or in lockstep beside all. */
    readonly wrapStart: PlayMode["wrapEpisode"];
    /** Lockstep's barrier, which counts training's episodes in and out; null in the other modes. */
    readonly barrier: Barrier | null;
  }
>()("millrace/engine/RolloutSetup") {}
