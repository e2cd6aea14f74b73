/** The contestants of a comparison: the episodes of an evaluation, or the outcomes of a run's validation, by seed. Pure. */
import { groupsOf } from "../../config/levels.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { instanceDigest } from "../../domain/instanceDigest.ts";
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
    const instance = instanceDigest(tag, contentKey);
    return [{ tag, seed, instance, successes, returns: members.map(returnOf) }];
  });

/** A line of validations.jsonl, whose seeds have an instance each unless it is an older run's. */
export interface ValidationLine {
  readonly success: readonly number[];
  readonly instances?: readonly (string | null)[];
}

/** The outcomes of a run's validation. Null where it is not of this configuration. */
export const ofValidation = (config: RunConfig, { instances, success }: ValidationLine): readonly Result[] | null => {
  const groups = groupsOf(config, "val");
  const { env_groups, group_size } = groups;
  if (success.length !== env_groups * group_size) return null;
  return Seeds.validation(groups, 0, 0).map(({ seed, tag }, place) => ({
    tag,
    seed,
    instance: instances?.[place] ?? null,
    successes: success.slice(place * group_size, (place + 1) * group_size),
    returns: null,
  }));
};
