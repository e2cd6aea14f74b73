/**
 * Plays the groups of training: in this process, unless another player takes its place. Invariant: a group that was played elsewhere is
 * kept there until `confirmFinished` says that its end is recorded.
 */
import { Context, Effect } from "effect";
import type { BadInput, EnvironmentError, PolicyError } from "../domain/Errors.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import type { Environments } from "../env/contract/Environments.ts";
import type { Policy } from "../generation/Policy.ts";
import * as GroupProgram from "./group.ts";
import type { PlayMode, Rollout } from "./Rollout.ts";

export interface GroupPlayer {
  /** Plays a prompt, here or elsewhere. Fails only when an engine does; interruption takes the prompt back. */
  readonly play: (
    rollout: Rollout,
    mode: PlayMode,
    prompt: Prompt,
  ) => Effect.Effect<Group, BadInput | PolicyError | EnvironmentError, Policy | Environments>;
  /** The group is in the books: its `Finished` has been emitted. */
  readonly confirmFinished: (group: Group) => Effect.Effect<void>;
  /** Metrics of players on other machines. */
  readonly metrics: () => Metrics;
}

/** Every group is played in this process. */
export const localPlayer: GroupPlayer = {
  play: GroupProgram.play,
  confirmFinished: () => Effect.void,
  metrics: () => new Map(),
};

export const CurrentGroupPlayer = Context.Reference<GroupPlayer>("millrace/rollout/GroupPlayer", {
  defaultValue: () => localPlayer,
});
