/**
 * The training groups that had a request at the generator when one of its threads died. A group that was there `MOST_DEATHS` times is played
 * no more: its episodes fail. Invariant: a death counts once for each of its groups, and the counts outlive the restarts of a process.
 */
import { Effect } from "effect";
import type { Failure } from "../domain/Episode.ts";
import type { LearnerError, PolicyError } from "../domain/Errors.ts";
import type { GenerateRequest, Policy } from "../generation/Policy.ts";
import type { GroupPlayer } from "./GroupPlayer.ts";
import { trainingGroup } from "./keys.ts";
import { failedGroup } from "./members.ts";

/** Deaths after which a group is played no more. */
const MOST_DEATHS = 2;

const crash: Failure = {
  reason: "generator_crashed",
  message: `a generator thread died ${MOST_DEATHS} times while it sampled for this group`,
};

export class CrashSuspects {
  readonly #deaths = new Map<number, number>();
  /** Requests that are at the generator of the present attempt; empty once its death was counted. */
  #open: ReadonlySet<GenerateRequest> = new Set();

  /** True if a group is played no more. */
  isQuarantined(group: number): boolean {
    return (this.#deaths.get(group) ?? 0) >= MOST_DEATHS;
  }

  /** Counts one death for each of the groups. */
  count(groups: Iterable<number>): void {
    for (const group of new Set(groups)) this.#deaths.set(group, (this.#deaths.get(group) ?? 0) + 1);
  }

  /** The policy of one attempt at the run, whose open requests count if a generator thread dies. */
  watch(policy: typeof Policy.Service): typeof Policy.Service {
    const open = new Set<GenerateRequest>();
    this.#open = open;
    return {
      ...policy,
      generate: (request) =>
        Effect.suspend(() => {
          open.add(request);
          return Effect.tapError(policy.generate(request), this.countDeath);
        }).pipe(Effect.ensuring(Effect.sync(() => open.delete(request)))),
    };
  }

  /** Counts the death of a generator thread for the groups of all open requests, once in an attempt. Other errors count nothing. */
  readonly countDeath = (error: PolicyError | LearnerError): Effect.Effect<void> =>
    Effect.sync(() => {
      if (error._tag !== "PolicyError" || error.reason !== "thread_died") return;
      this.count([...this.#open].flatMap(({ key }) => trainingGroup(key) ?? []));
      this.#open = new Set();
    });

  /** The player of training's groups, which plays those in quarantine no more. */
  guard(player: GroupPlayer): GroupPlayer {
    return {
      ...player,
      play: (rollout, mode, prompt) =>
        this.isQuarantined(prompt.group) ? failedGroup(mode, prompt, crash) : player.play(rollout, mode, prompt),
    };
  }
}
