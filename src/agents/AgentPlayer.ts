/**
 * Plays groups of an agent: each episode gets a key of the endpoint, and its host runs the agent against it. What the calls sampled is the
 * episode. Invariant: an episode without a reward has failed; it never counts as one that earned 0.
 */
import { Deferred, Effect } from "effect";
import type { Episode, EpisodeId, FailureReason } from "../domain/Episode.ts";
import { BadInput, type PolicyError } from "../domain/Errors.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import type { StreamKey } from "../domain/Random.ts";
import { Policy } from "../generation/Policy.ts";
import { noiseKey, samplingKey, sequenceId } from "../rollout/keys.ts";
import type { PlayGroup, PlayMode, Rollout } from "../rollout/Rollout.ts";
import type { AgentHost } from "./host/AgentHost.ts";
import { EpisodeAccount } from "./host/EpisodeAccount.ts";
import type { HostFailure } from "./host/HostFailure.ts";
import type { AgentResult } from "./host/outcome.ts";
import type { AgentModel } from "./session/AgentModel.ts";
import { episodeOf } from "./session/record.ts";
import { type Budget, Session, type SessionSettings } from "./session/Session.ts";
import type { Sessions } from "./session/Sessions.ts";

export interface AgentPlayerSettings {
  readonly host: AgentHost;
  readonly sessions: Sessions;
  /** Address of the endpoint. */
  readonly endpoint: string;
  readonly model: AgentModel;
  readonly budget: Budget;
  /** Called with each episode that was played, and the calls that it was made of. */
  readonly onPlayed?: (episode: Episode, session: Session) => void;
}

/** One episode to play. */
interface Member {
  readonly rollout: Rollout;
  readonly mode: PlayMode;
  readonly prompt: Prompt;
  readonly member: number;
}

/** Sequences of other lines lie above all sequences of episodes. */
const lineSequences = 2 ** 32;

/** Number of episodes, the first of a run, that must not all fail. */
const firstEpisodes = 32;

/** Finds out whether an agent plays at all: it fails the run if its first episodes all fail. */
class FirstEpisodes {
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
const wishNotices = () => {
  const told = new Set<string>();
  return ({ ignoredWishes }: Session): Effect.Effect<void> => {
    const fresh = [...ignoredWishes].filter((wish) => !told.has(wish)).slice(0, mostNotices - told.size);
    for (const wish of fresh) told.add(wish);
    const sentence = "sampling is the run file's (generation, es_manager.val.temperature)";
    return Effect.forEach(fresh, (wish) => Effect.logWarning(`agent: calls ask for ${wish}; ${sentence}`), {
      discard: true,
    });
  };
};

const noCall = "it ended without a call to the endpoint: is its client made with episode.baseURL and episode.apiKey?";

const placeOf = ({
  member,
  prompt,
}: Member): { readonly id: EpisodeId; readonly tag: string; readonly seed: number } => ({
  id: { group: prompt.group, member },
  tag: prompt.tag,
  seed: prompt.seed,
});

const failedEpisode = (member: Member, reason: FailureReason, message: string): Episode => ({
  ...placeOf(member),
  sequences: [],
  outcome: { _tag: "Failed", reason, message },
});

/** Stream of the draws of a call, and key of the caches of its line. */
const keysOf = ({
  member,
  mode: { split },
  prompt,
  rollout,
}: Member): Pick<SessionSettings, "keyOf" | "sequenceOf"> => {
  const sequence = sequenceId(split, prompt, member);
  return {
    // On line 0 call n draws as turn n of a run without an agent.
    keyOf: ({ stream }): StreamKey => samplingKey(rollout.seed, split, prompt, member, stream),
    sequenceOf: (line) => sequence + line * lineSequences,
  };
};

/** The function that plays an agent's groups. */
export const make = ({ budget, endpoint, model, onPlayed, sessions, host }: AgentPlayerSettings): PlayGroup => {
  const firsts = new FirstEpisodes();
  const tellWishes = wishNotices();
  const recorded = (member: Member, session: Session, result: AgentResult): Episode => {
    const { limit, tree } = session;
    if (tree.size === 0) return failedEpisode(member, "agent_error", noCall);
    return episodeOf({ ...placeOf(member), roots: tree.roots, limit }, model, result);
  };

  /** Runs the agent against an open session. */
  const runAgent = (
    member: Member,
    session: Session,
    account: EpisodeAccount,
    apiKey: string,
  ): Effect.Effect<Episode> => {
    const { mode, prompt, rollout } = member;
    const noise = noiseKey(rollout.seed, mode.split, prompt, member.member, 0);
    const { group, seed } = prompt;
    const order = { endpoint, apiKey, split: mode.split, seed, group, member: member.member };
    return host.play({ ...order, noise: { ...noise, counters: noise.counters.slice(0, 2) } }, account).pipe(
      Effect.map((result) => recorded(member, session, result)),
      Effect.catch(({ message, reason }: HostFailure) => Effect.succeed(failedEpisode(member, reason, message))),
      Effect.tap((episode) => Effect.sync(() => onPlayed?.(episode, session))),
      Effect.ensuring(
        Effect.andThen(
          Effect.sync(() => sessions.remove(apiKey)),
          session.end,
        ),
      ),
    );
  };

  const playMember = Effect.fnUntraced(function* (member: Member) {
    const broken = yield* Deferred.make<never, PolicyError>();
    const session = new Session({
      ...keysOf(member),
      name: `${member.mode.split}${member.prompt.group}m${member.member}`,
      ...{ budget, model },
      policy: yield* Policy,
      sampling: member.mode.sampling,
      pin: member.mode.pin,
      onPolicyFailure: (error) => Effect.asVoid(Deferred.fail(broken, error)),
    });
    const account = new EpisodeAccount();
    const apiKey = sessions.add(session, host.isControlled ? account : null);
    const playing = Effect.raceFirst(runAgent(member, session, account, apiKey), Deferred.await(broken));
    const episode = yield* playing;
    yield* tellWishes(session);
    yield* firsts.check(episode);
    return episode;
  });

  return Effect.fnUntraced(function* (rollout, mode, prompt) {
    const episodes = yield* Effect.forEach(
      Array.from({ length: prompt.size }, (_, member) => member),
      (member) => mode.wrapEpisode(playMember({ rollout, mode, prompt, member }), prompt.urgent === true),
      { concurrency: "unbounded" },
    );
    const group: Group = { prompt, episodes };
    return group;
  });
};
