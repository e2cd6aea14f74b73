/** Notices of a run about its agent: that it plays nothing, and that it asks for what training does not grant. Each is said once. */
import { Effect } from "effect";
import type { Episode } from "../domain/Episode.ts";
import { BadInput } from "../domain/Errors.ts";
import type { Session } from "./session/Session.ts";

/** Number of episodes, the first of a run, that must not all fail. */
const firstEpisodes = 32;

/** Finds out whether an agent plays at all: it fails the run if its first episodes all fail. */
export class FirstEpisodes {
  #failed = 0;
  #hasPlayed = false;

  check(episode: Episode): Effect.Effect<void, BadInput> {
    const { outcome } = episode;
    if (outcome._tag !== "Failed") this.#hasPlayed = true;
    else if (!this.#hasPlayed && ++this.#failed >= firstEpisodes) {
      const message = `agent: the first ${firstEpisodes} episodes all failed, the last by ${outcome.reason}: ${outcome.message}`;
      return new BadInput({ message });
    }
    return Effect.void;
  }
}

/** Most notices of wishes that training does not grant. */
const mostNotices = 5;

/** Tells once of each wish of calls that training does not grant. */
export const wishNotices = () => {
  const noticed = new Set<string>();
  return ({ ignoredWishes }: Pick<Session, "ignoredWishes">): Effect.Effect<void> => {
    const fresh = [...ignoredWishes].filter((wish) => !noticed.has(wish)).slice(0, mostNotices - noticed.size);
    for (const wish of fresh) noticed.add(wish);
    const sentence = "sampling is the run file's (generation, es_manager.val.temperature)";
    return Effect.forEach(fresh, (wish) => Effect.logWarning(`agent: calls ask for ${wish}; ${sentence}`), {
      discard: true,
    });
  };
};
