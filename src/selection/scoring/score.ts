/**
 * Scores the episodes of a window, as a pure function of the whole window, because normalisation is relative to a set of episodes.
 * Invariants: failed members and failed groups take no part in a statistic; an episode counts once, however many token sequences it has; an
 * episode's turn scores sum to its score; groups keep their order.
 *
 * Without turn scores every token sequence carries the score (domain/Placement). With them each turn keeps its own environment reward,
 * unnormalised and without the penalty, as in RAGEN.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type Episode, failed, penaltyOf, rewardOf, turnsOf } from "../../domain/Episode.ts";
import {
  type Group,
  isFailed,
  members,
  type ScoredEpisode,
  type ScoredWindow,
  type Window,
} from "../../domain/Group.ts";
import { normalise } from "./normalise.ts";

type Config = RunConfig["reward"];

/** Sets within which scores are normalised; failed groups are in none. */
const sets = (groups: readonly Group[], grouping: Config["grouping"]): readonly (readonly Episode[])[] => {
  const bySet = new Map<number | string, Episode[]>();
  for (const group of groups) {
    if (isFailed(group)) continue;
    const key = { state: group.prompt.group, inductive: group.prompt.tag, batch: "" }[grouping];
    const set = bySet.get(key);
    if (set === undefined) bySet.set(key, [...members(group)]);
    else set.push(...members(group));
  }
  return [...bySet.values()];
};

const total = (episode: Episode): number => rewardOf(episode) + penaltyOf(episode);

/** Normalised totals. Where no set has two episodes there is nothing to compare with, and totals stay as they are. */
const normalisedTotals = (groups: readonly Group[], { grouping, method }: Config): ReadonlyMap<Episode, number> => {
  const compared = sets(groups, grouping);
  const comparable = compared.some((set) => set.length > 1);
  return new Map(
    compared.flatMap((set) => {
      const totals = set.map(total);
      const scores = comparable ? normalise[method](totals) : totals;
      return set.map((episode, i): [Episode, number] => [episode, scores[i]!]);
    }),
  );
};

const byTurn = (episode: Episode): ScoredEpisode => ({
  episode,
  score: rewardOf(episode),
  turnScores: turnsOf(episode).map((turn) => turn.reward),
});

export const score = (window: Window, config: Config): ScoredWindow => {
  const totals = config.use_turn_scores ? new Map<Episode, number>() : normalisedTotals(window.groups, config);
  return {
    index: window.index,
    groups: window.groups.map((group) => ({
      prompt: group.prompt,
      episodes: members(group).map((episode) =>
        config.use_turn_scores ? byTurn(episode) : { episode, score: totals.get(episode) ?? total(episode) },
      ),
      failures: group.episodes.filter(failed),
    })),
  };
};
