/** Notices of a run about its agent: that it plays nothing, cannot be trained as it is, or asks for what is not granted. Each is said once. */
import { Effect } from "effect";
import type { Episode } from "../domain/Episode.ts";
import { BadInput } from "../domain/Errors.ts";
import { type CheckedEpisode, findingsOf } from "./check/findings.ts";
import type { Session } from "./session/Session.ts";

/** Number of episodes, the first of a run, that must not all fail. */
const firstEpisodes = 32;
/** Number of played episodes whose calls are checked. */
const checkedEpisodes = 8;
/** Most notices of wishes that are not granted. */
const mostWishes = 5;

/** A session as the notices read it. */
export type PlayedSession = Pick<Session, "ignoredWishes" | "limit" | "setupProblem"> & {
  readonly tree: Pick<Session["tree"], "roots">;
};

export interface NoticesOptions {
  /** Says what decides sampling where wishes of calls are not granted. */
  readonly samplingSource: string;
  /** The run's policy replies, so that the calls show whether the agent can be trained. */
  readonly isTrainable: boolean;
}

const ofPolicy: NoticesOptions = {
  samplingSource: "the run file's (generation, es_manager.val.temperature)",
  isTrainable: true,
};

export class AgentNotices {
  readonly #options: NoticesOptions;
  #failed = 0;
  readonly #played: CheckedEpisode[] = [];
  readonly #wishes = new Set<string>();

  constructor(options: NoticesOptions = ofPolicy) {
    this.#options = options;
  }

  /** Says what an episode shows for the first time. Fails if the first episodes of the run all failed, or the model cannot serve the agent. */
  after(episode: Episode, session: PlayedSession): Effect.Effect<void, BadInput> {
    return Effect.andThen(this.#wishesOf(session), this.#checked(episode, session));
  }

  #wishesOf({ ignoredWishes }: PlayedSession): Effect.Effect<void> {
    const fresh = [...ignoredWishes].filter((wish) => !this.#wishes.has(wish)).slice(0, mostWishes - this.#wishes.size);
    for (const wish of fresh) this.#wishes.add(wish);
    const { samplingSource } = this.#options;
    return warn(fresh.map((wish) => `calls ask for ${wish}; sampling is ${samplingSource}`));
  }

  #checked(
    episode: Episode,
    { ignoredWishes, limit, setupProblem, tree }: PlayedSession,
  ): Effect.Effect<void, BadInput> {
    const { outcome } = episode;
    if (outcome._tag === "Failed") {
      if (this.#played.length > 0) return Effect.void;
      if (setupProblem !== null) return new BadInput({ message: `agent: ${setupProblem}` });
      if (++this.#failed < firstEpisodes) return Effect.void;
      const message = `agent: the first ${firstEpisodes} episodes all failed, the last by ${outcome.reason}: ${outcome.message}`;
      return new BadInput({ message });
    }
    if (this.#played.length >= checkedEpisodes) return Effect.void;
    this.#played.push({ episode, limit, roots: tree.roots, ignoredWishes: [...ignoredWishes] });
    if (this.#played.length < checkedEpisodes || !this.#options.isTrainable) return Effect.void;
    return warn(
      findingsOf(this.#played)
        .filter(({ grade }) => grade !== "note")
        .map(({ sentence }) => `in its first ${checkedEpisodes} episodes: ${sentence}`),
    );
  }
}

const warn = (sentences: readonly string[]): Effect.Effect<void> =>
  Effect.forEach(sentences, (sentence) => Effect.logWarning(`agent: ${sentence}`), { discard: true });
