/** The members of a group: its episodes, which are played at once, each on its own fiber. */
import { Effect } from "effect";
import type { Episode, Failure } from "../domain/Episode.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import type { PlayMode } from "./Rollout.ts";

/** Plays the members of a prompt's group, each wrapped as the mode wraps an episode. Done when the last of them has ended. */
export const playMembers = <E, R>(
  mode: PlayMode,
  prompt: Prompt,
  play: (member: number) => Effect.Effect<Episode, E, R>,
): Effect.Effect<readonly Episode[], E, R> =>
  Effect.forEach(
    Array.from({ length: prompt.size }, (_, member) => member),
    (member) => mode.wrapEpisode(play(member), prompt.urgent === true),
    { concurrency: "unbounded" },
  );

/** A failed episode, without turns. */
export const failedEpisode = ({ group, seed, tag }: Prompt, member: number, { message, reason }: Failure): Episode => ({
  id: { group, member },
  tag,
  seed,
  sequences: [],
  outcome: { _tag: "Failed", reason, message },
});

/** A group that is not played: each of its episodes has failed. */
export const failedGroup = (mode: PlayMode, prompt: Prompt, failure: Failure): Effect.Effect<Group> =>
  Effect.map(
    playMembers(mode, prompt, (member) => Effect.succeed(failedEpisode(prompt, member, failure))),
    (episodes) => ({ prompt, episodes }),
  );
