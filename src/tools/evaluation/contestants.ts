/** The contestants of a comparison: the episodes of an evaluation, or the outcomes of a run's validation, by instance. Pure. */
import { groupsOf } from "../../config/levels.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import * as Seeds from "../../rollout/seeds.ts";
import type { Result } from "./Comparison.ts";
import { type EvaluatedEpisode, returnOf } from "./EvaluatedEpisode.ts";

const inOrder = (a: EvaluatedEpisode, b: EvaluatedEpisode): number => a.group - b.group || a.member - b.member;

/** Puts episodes in the order of the plan. */
export const sorted = (episodes: readonly EvaluatedEpisode[]): readonly EvaluatedEpisode[] =>
  [...episodes].sort(inOrder);

export const ofEpisodes = (episodes: readonly EvaluatedEpisode[]): readonly Result[] =>
  [...Map.groupBy(sorted(episodes), ({ seed, tag }) => JSON.stringify([tag, seed])).values()].flatMap((members) => {
    const [first] = members;
    if (first === undefined) return [];
    const { contentKey, seed, tag } = first;
    const successes = members.map(({ outcome }) => (outcome.success ? 1 : 0));
    return [{ tag, seed, contentKey, successes, returns: members.map(returnOf) }];
  });

/** A line of validations.jsonl: the outcome of every episode, in instance order. Null where it is not of this configuration. */
export const ofValidation = (config: RunConfig, success: readonly number[]): readonly Result[] | null => {
  const groups = groupsOf(config, "val");
  const { env_groups, group_size } = groups;
  if (success.length !== env_groups * group_size) return null;
  return Seeds.validation(groups, 0, 0).map(({ seed, tag }, place) => ({
    tag,
    seed,
    contentKey: null,
    successes: success.slice(place * group_size, (place + 1) * group_size),
    returns: null,
  }));
};
