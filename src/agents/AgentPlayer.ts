/**
 * Plays groups of an agent: each episode gets a key of the endpoint, and its thread runs the agent against it. What the calls sampled is the
 * episode. Invariant: an episode without a reward has failed; it never counts as one that earned 0.
 */
import { Deferred, Effect } from "effect";
import type { Episode, FailureReason } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import type { StreamKey } from "../domain/Random.ts";
import { Policy } from "../generation/Policy.ts";
import { noiseKey, samplingKey, sequenceId } from "../rollout/keys.ts";
import type { PlayMode, Rollout } from "../rollout/Rollout.ts";
import type { AgentThreads, HostFailure } from "./host/AgentThreads.ts";
import type { HostResult } from "./host/messages.ts";
import type { AgentModel } from "./session/AgentModel.ts";
import { episodeOf } from "./session/record.ts";
import { type Budget, Session, type SessionSettings } from "./session/Session.ts";
import type { Sessions } from "./session/Sessions.ts";

export interface AgentPlayerSettings {
  readonly threads: AgentThreads;
  readonly sessions: Sessions;
  /** Address of the endpoint. */
  readonly endpoint: string;
  readonly model: AgentModel;
  readonly budget: Budget;
  /** Called with each episode that was played, and the calls that it was made of. */
  readonly onPlayed?: (episode: Episode, session: Session) => void;
}

/** The first counters of a stream stay its group's and member's; calls of other lines draw from streams far from those of the first. */
const branchStride = 2 ** 20;
/** Sequences of other lines lie above all sequences of episodes. */
const branchSequences = 2 ** 32;

const branchKey = (key: StreamKey, branch: number, turn: number): StreamKey => ({
  ...key,
  counters: [...key.counters.slice(0, 2), turn + branch * branchStride],
});

const failedEpisode = (prompt: Prompt, member: number, reason: FailureReason, message: string): Episode => ({
  id: { group: prompt.group, member },
  tag: prompt.tag,
  seed: prompt.seed,
  sequences: [],
  outcome: { _tag: "Failed", reason, message },
});

/** The function that plays an agent's groups. */
export const make = ({ budget, endpoint, model, onPlayed, sessions, threads }: AgentPlayerSettings) => {
  const settingsOf = (
    policy: typeof Policy.Service,
    rollout: Rollout,
    mode: PlayMode,
    prompt: Prompt,
    member: number,
    broken: Deferred.Deferred<never, PolicyError>,
  ): SessionSettings => {
    const sequence = sequenceId(mode.split, prompt, member);
    return {
      policy,
      model,
      budget,
      sampling: mode.sampling,
      pin: mode.pin,
      keyOf: ({ branch, turn }) => branchKey(samplingKey(rollout.seed, mode.split, prompt, member, turn), branch, turn),
      sequenceOf: (branch) => sequence + branch * branchSequences,
      onPolicyFailure: (error) => Effect.asVoid(Deferred.fail(broken, error)),
    };
  };

  const recorded = (prompt: Prompt, member: number, session: Session, result: HostResult): Episode => {
    if (session.tree.size === 0) {
      return failedEpisode(
        prompt,
        member,
        "agent_error",
        "it ended without a call to the endpoint: is its client made with episode.baseURL and episode.apiKey?",
      );
    }
    const { limit, tree } = session;
    const played = {
      id: { group: prompt.group, member },
      tag: prompt.tag,
      seed: prompt.seed,
      roots: tree.roots,
      limit,
    };
    return episodeOf(played, model, result);
  };

  const playMember = Effect.fnUntraced(function* (rollout: Rollout, mode: PlayMode, prompt: Prompt, member: number) {
    const policy = yield* Policy;
    const broken = yield* Deferred.make<never, PolicyError>();
    const session = new Session(settingsOf(policy, rollout, mode, prompt, member, broken));
    const apiKey = sessions.add(session);
    const { group, seed } = prompt;
    const { counters, ...noise } = noiseKey(rollout.seed, mode.split, prompt, member, 0);
    const order = {
      ...{ endpoint, apiKey, split: mode.split, seed, group, member },
      noise: { ...noise, counters: counters.slice(0, 2) },
    };
    const played = threads.play(order).pipe(
      Effect.map((result) => recorded(prompt, member, session, result)),
      Effect.catch(({ message, reason }: HostFailure) =>
        Effect.succeed(failedEpisode(prompt, member, reason, message)),
      ),
      Effect.tap((episode) => Effect.sync(() => onPlayed?.(episode, session))),
      Effect.ensuring(
        Effect.andThen(
          Effect.sync(() => sessions.remove(apiKey)),
          session.end,
        ),
      ),
    );
    return yield* Effect.raceFirst(played, Deferred.await(broken));
  });

  return Effect.fnUntraced(function* (
    rollout: Rollout,
    mode: PlayMode,
    prompt: Prompt,
  ): Effect.fn.Return<Group, PolicyError, Policy> {
    const episodes = yield* Effect.forEach(
      Array.from({ length: prompt.size }, (_, member) => member),
      (member) => mode.wrapEpisode(playMember(rollout, mode, prompt, member), prompt.urgent === true),
      { concurrency: "unbounded" },
    );
    return { prompt, episodes };
  });
};
