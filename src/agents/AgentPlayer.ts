/** Plays groups of an agent whose calls the policy answers. */
import { Effect } from "effect";
import type { PolicyError } from "../domain/Errors.ts";
import type { Group } from "../domain/Group.ts";
import type { StreamKey } from "../domain/Random.ts";
import { Policy } from "../generation/Policy.ts";
import { endOfSequences, samplingKey, sequenceId } from "../rollout/keys.ts";
import { playMembers } from "../rollout/members.ts";
import type { PlayGroup } from "../rollout/Rollout.ts";
import * as AgentEpisodes from "./AgentEpisodes.ts";
import type { AgentModel } from "./session/AgentModel.ts";
import { type Budget, PolicyReplies, type PolicySettings } from "./session/PolicyReplies.ts";

export interface AgentPlayerSettings
  extends AgentEpisodes.OpenedAgent,
    Pick<AgentEpisodes.AgentEpisodesSettings, "onPlayed"> {
  readonly model: AgentModel;
  readonly budget: Budget;
}

/** Stream of the draws of a call, and key of the caches of its line. */
const keysOf = ({
  member,
  prompt,
  seed,
  split,
}: AgentEpisodes.AgentEpisode): Pick<PolicySettings, "keyOf" | "sequenceOf"> => {
  const sequence = sequenceId(split, prompt, member);
  return {
    // On line 0 call n draws as turn n of a run without an agent.
    keyOf: ({ stream }): StreamKey => samplingKey(seed, split, prompt, member, stream),
    sequenceOf: (line) => sequence + line * endOfSequences,
  };
};

/** The function that plays an agent's groups. */
export const make = ({ budget, model, ...settings }: AgentPlayerSettings): PlayGroup => {
  const playEpisode = AgentEpisodes.make({
    ...settings,
    calls: budget.calls,
    textOf: model.textOf,
  });
  return Effect.fnUntraced(function* (rollout, mode, prompt) {
    const policy = yield* Policy;
    const { pin, sampling, split } = mode;
    const playMember = (member: number) => {
      const episode = { seed: rollout.seed, split, prompt, member };
      return playEpisode<PolicyError>(
        episode,
        (onPolicyFailure) =>
          new PolicyReplies({ ...keysOf(episode), budget, model, policy, onPolicyFailure, sampling, pin }),
      );
    };
    const group: Group = { prompt, episodes: yield* playMembers(mode, prompt, playMember) };
    return group;
  });
};
