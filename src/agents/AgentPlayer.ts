/**
 * Plays groups of an agent: each episode gets a key of the endpoint, and its host runs the agent against it. What the calls sampled is the
 * episode. Invariant: an episode without a reward has failed; it never counts as one that earned 0.
 */
import { Deferred, Effect } from "effect";
import type { Episode, EpisodeId, FailureReason } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import type { StreamKey } from "../domain/Random.ts";
import { Policy } from "../generation/Policy.ts";
import { noiseKey, samplingKey, sequenceId } from "../rollout/keys.ts";
import type { PlayGroup, PlayMode, Rollout } from "../rollout/Rollout.ts";
import type { AgentHost, EpisodeOrder } from "./host/AgentHost.ts";
import { EpisodeAccount } from "./host/EpisodeAccount.ts";
import type { HostFailure } from "./host/HostFailure.ts";
import type { AgentResult } from "./host/outcome.ts";
import { AgentNotices } from "./notices.ts";
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

const sessionOf = (
  member: Member,
  { budget, model }: AgentPlayerSettings,
  policy: typeof Policy.Service,
  onPolicyFailure: SessionSettings["onPolicyFailure"],
): Session =>
  new Session({
    ...keysOf(member),
    ...{ budget, model, policy, onPolicyFailure },
    name: `${member.mode.split}${member.prompt.group}m${member.member}`,
    sampling: member.mode.sampling,
    pin: member.mode.pin,
  });

const orderOf = (
  { member, mode: { split }, prompt, rollout }: Member,
  { endpoint }: AgentPlayerSettings,
  apiKey: string,
): EpisodeOrder => {
  const noise = noiseKey(rollout.seed, split, prompt, member, 0);
  const { group, seed } = prompt;
  return { endpoint, apiKey, split, seed, group, member, noise: { ...noise, counters: noise.counters.slice(0, 2) } };
};

const recorded = (member: Member, { limit, tree }: Session, model: AgentModel, result: AgentResult): Episode => {
  if (tree.size === 0) return failedEpisode(member, "agent_error", noCall);
  return episodeOf({ ...placeOf(member), roots: tree.roots, limit }, model, result);
};

/** The function that plays an agent's groups. */
export const make = (settings: AgentPlayerSettings): PlayGroup => {
  const { host, model, onPlayed, sessions } = settings;
  const notices = new AgentNotices();

  /** Runs the agent against an open session, and closes it. */
  const runAgent = (member: Member, session: Session): Effect.Effect<Episode> => {
    const account = new EpisodeAccount();
    const apiKey = sessions.add(session, host.isControlled ? account : null);
    const close = Effect.andThen(
      Effect.sync(() => sessions.remove(apiKey)),
      session.end,
    );
    return host.play(orderOf(member, settings, apiKey), account).pipe(
      Effect.map((result) => recorded(member, session, model, result)),
      Effect.catch(({ message, reason }: HostFailure) => Effect.succeed(failedEpisode(member, reason, message))),
      Effect.tap((episode) => Effect.sync(() => onPlayed?.(episode, session))),
      Effect.ensuring(close),
    );
  };

  const playMember = Effect.fnUntraced(function* (member: Member) {
    const broken = yield* Deferred.make<never, PolicyError>();
    const fail = (error: PolicyError) => Effect.asVoid(Deferred.fail(broken, error));
    const session = sessionOf(member, settings, yield* Policy, fail);
    const episode = yield* Effect.raceFirst(runAgent(member, session), Deferred.await(broken));
    yield* notices.after(episode, session);
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
