/**
 * Agents in programs that a run does not start: they open episodes that wait for them. Invariant: an episode that nobody opens in time fails as
 * `never_opened`, so that an abandoned group does not hold up its window.
 */
import { Deferred, Duration, Effect } from "effect";
import { type AgentHost, type EpisodeOrder, within } from "./AgentHost.ts";
import { hostFailure } from "./HostFailure.ts";
import type { TaskSource } from "./tasks.ts";

export interface OutsideLimits {
  /** Seconds that an episode waits for a program to open it. */
  readonly openSeconds: number;
  /** Seconds that an episode may take once it is open. */
  readonly seconds: number;
}

/** An episode with its task, as a program outside gets it. */
export interface OpenedEpisode {
  readonly order: EpisodeOrder;
  readonly task: unknown;
}

interface WaitingEpisode extends OpenedEpisode {
  readonly opened: Deferred.Deferred<void>;
}

export interface OutsideAgents extends AgentHost {
  /** Opens the episode that has waited longest, of `split` where one is named; null while none waits. */
  readonly open: (split: "train" | "val" | null) => OpenedEpisode | null;
}

export const make = (taskOf: TaskSource, { openSeconds, seconds }: OutsideLimits): OutsideAgents => {
  const waiting = new Set<WaitingEpisode>();
  return {
    isControlled: true,
    open: (split) => {
      const [episode] = [...waiting].filter(({ order }) => split === null || order.split === split);
      if (episode === undefined) return null;
      waiting.delete(episode);
      Deferred.doneUnsafe(episode.opened, Effect.void);
      return episode;
    },
    play: Effect.fnUntraced(function* (order, account) {
      const task = yield* Effect.promise(async () => taskOf(order.seed, order.split, order.level));
      const episode: WaitingEpisode = { order, task, opened: Deferred.makeUnsafe<void>() };
      waiting.add(episode);
      yield* Deferred.await(episode.opened).pipe(
        Effect.timeoutOrElse({
          duration: Duration.seconds(openSeconds),
          orElse: () => Effect.fail(hostFailure("never_opened", `no program opened it in ${openSeconds} s`)),
        }),
        Effect.ensuring(Effect.sync(() => waiting.delete(episode))),
      );
      return yield* within(seconds)(Deferred.await(account.ended));
    }),
  };
};
