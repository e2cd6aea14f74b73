/** A host runs an agent's episodes: in threads, in processes, in a server of the user's, or in programs outside. */
import { Duration, Effect } from "effect";
import type { StreamKey } from "../../domain/Random.ts";
import type { EpisodeAccount } from "./EpisodeAccount.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import type { AgentResult } from "./outcome.ts";

/** An episode as its agent gets it. */
export interface EpisodeOrder {
  /** Address of the endpoint, without `/v1`. */
  readonly endpoint: string;
  readonly apiKey: string;
  readonly split: "train" | "val";
  readonly seed: number;
  readonly group: number;
  readonly member: number;
  /** The level of the task; absent for tasks without levels. */
  readonly level?: string;
  /** Stream of the noise of an environment's turn, but for the turn, which is its last counter. */
  readonly noise: StreamKey;
}

export interface AgentHost {
  /** Plays an episode to the agent's end. Interruption ends the agent. `account` is what it says through the endpoint's control routes. */
  readonly play: (order: EpisodeOrder, account: EpisodeAccount) => Effect.Effect<AgentResult, HostFailure>;
  /** True if agents report rewards and ends through the control routes. */
  readonly isControlled: boolean;
}

/** Fails an episode that takes longer than `seconds`. */
export const within =
  (seconds: number) =>
  <R>(episode: Effect.Effect<AgentResult, HostFailure, R>): Effect.Effect<AgentResult, HostFailure, R> =>
    Effect.timeoutOrElse(episode, {
      duration: Duration.seconds(seconds),
      orElse: () => Effect.fail(hostFailure("agent_timeout", `it has not ended after ${seconds} s`)),
    });
