/**
 * Plays single episodes of an agent: each gets a key of the endpoint, and its host runs the agent against it. What the calls were answered is the
 * episode. Invariant: an episode without a reward has failed; it never counts as one that earned 0.
 */
import { Deferred, Effect } from "effect";
import type { Episode, Failure } from "../domain/Episode.ts";
import type { BadInput } from "../domain/Errors.ts";
import type { Prompt } from "../domain/Group.ts";
import type { Split } from "../env/contract/Environment.ts";
import { noiseKey } from "../rollout/keys.ts";
import { failedEpisode } from "../rollout/members.ts";
import type { AgentHost, EpisodeOrder } from "./host/AgentHost.ts";
import { EpisodeAccount } from "./host/EpisodeAccount.ts";
import type { HostFailure } from "./host/HostFailure.ts";
import type { AgentResult } from "./host/outcome.ts";
import { AgentNotices, type NoticesOptions } from "./notices.ts";
import type { AgentModel } from "./session/AgentModel.ts";
import type { Replies } from "./session/Replies.ts";
import { episodeOf } from "./session/record.ts";
import { Session } from "./session/Session.ts";
import type { Sessions } from "./session/Sessions.ts";

/** The place where a run's agent plays, and the endpoint that it calls. */
export interface OpenedAgent {
  readonly host: AgentHost;
  readonly sessions: Sessions;
  /** Address of the endpoint. */
  readonly endpoint: string;
  /** The levels of the agent's tasks by their tags; absent where they have none. */
  readonly levels?: ReadonlyMap<string, string>;
}

export interface AgentEpisodesSettings extends OpenedAgent {
  /** Most calls of an episode. */
  readonly calls: number;
  /** Text of a reply, as records show it. */
  readonly textOf: AgentModel["textOf"];
  /** Notices of a run by an endpoint; absent where the policy replies. */
  readonly notices?: NoticesOptions;
  /** Called in place of the notices with each episode that has ended, and the session of its calls. */
  readonly onPlayed?: (episode: Episode, session: Session) => void;
}

/** An episode to play. */
export interface AgentEpisode {
  /** Seed of the run's streams. */
  readonly seed: number;
  readonly split: Split;
  readonly prompt: Prompt;
  readonly member: number;
}

/**
 * Plays an episode whose calls are answered by the replies that `repliesWith` makes. A failure that they report ends the episode, and is the
 * effect's own.
 */
export type PlayAgentEpisode = <E>(
  episode: AgentEpisode,
  repliesWith: (onFailure: (error: E) => Effect.Effect<void>) => Replies,
) => Effect.Effect<Episode, E | BadInput>;

const noCall = "it ended without a call to the endpoint: is its client made with episode.baseURL and episode.apiKey?";
const noRoom = "none of its calls left room for a reply in the context (rollout.max_model_len, or that of an endpoint)";

const agentError = (message: string): Failure => ({ reason: "agent_error", message });

/** The failure of an episode in its host. An agent that fails without a call may have asked another address. */
const failureOf = ({ message, reason }: HostFailure, { limit, tree }: Session): Failure => {
  const isMute = reason === "agent_error" && tree.size === 0 && limit === null;
  const hint = " (and no call came to the endpoint: episode.baseURL and episode.apiKey are its client's)";
  return { reason, message: isMute ? `${message}${hint}` : message };
};

const orderOf = (
  { member, prompt, seed: streams, split }: AgentEpisode,
  { endpoint, levels }: Pick<OpenedAgent, "endpoint" | "levels">,
  apiKey: string,
): EpisodeOrder => {
  const { counters, ...noise } = noiseKey(streams, split, prompt, member, 0);
  const { group, seed, tag } = prompt;
  const level = levels?.get(tag);
  const order = { endpoint, apiKey, split, seed, group, member, ...(level === undefined ? {} : { level }) };
  return { ...order, noise: { ...noise, counters: counters.slice(0, 2) } };
};

/** The function that plays an agent's episodes. */
export const make = (settings: AgentEpisodesSettings): PlayAgentEpisode => {
  const { calls, host, onPlayed, sessions, textOf } = settings;
  const notices = new AgentNotices(settings.notices);

  const recorded = ({ member, prompt }: AgentEpisode, { limit, tree }: Session, result: AgentResult): Episode => {
    if (tree.size === 0) return failedEpisode(prompt, member, agentError(limit === null ? noCall : noRoom));
    const { group, seed, tag } = prompt;
    return episodeOf({ id: { group, member }, tag, seed, roots: tree.roots, limit }, { textOf }, result);
  };

  /** Runs the agent against an open session, and closes it. */
  const runAgent = (episode: AgentEpisode, session: Session): Effect.Effect<Episode> => {
    const { member, prompt } = episode;
    const account = new EpisodeAccount();
    const apiKey = sessions.add(session, host.isControlled ? account : null);
    const close = Effect.andThen(
      Effect.sync(() => sessions.remove(apiKey)),
      session.end,
    );
    return host.play(orderOf(episode, settings, apiKey), account).pipe(
      Effect.map((result) => recorded(episode, session, result)),
      Effect.catch((failure: HostFailure) =>
        Effect.succeed(failedEpisode(prompt, member, failureOf(failure, session))),
      ),
      Effect.map((finishedEpisode) =>
        session.setupProblem === null
          ? finishedEpisode
          : failedEpisode(prompt, member, agentError(session.setupProblem)),
      ),
      Effect.tap((finishedEpisode) => Effect.sync(() => onPlayed?.(finishedEpisode, session))),
      Effect.ensuring(close),
    );
  };

  return <E>(
    episode: AgentEpisode,
    repliesWith: (onFailure: (error: E) => Effect.Effect<void>) => Replies,
  ): Effect.Effect<Episode, E | BadInput> =>
    Effect.gen(function* () {
      const broken = yield* Deferred.make<never, E>();
      const replies = repliesWith((error) => Effect.asVoid(Deferred.fail(broken, error)));
      const name = `${episode.split}${episode.prompt.group}m${episode.member}`;
      const session = new Session({ name, calls, replies });
      const finishedEpisode = yield* Effect.raceFirst(runAgent(episode, session), Deferred.await(broken));
      if (onPlayed === undefined) yield* notices.after(finishedEpisode, session);
      return finishedEpisode;
    });
};
