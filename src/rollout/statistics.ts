/**
 * What played episodes say of themselves, under RAGEN's metric names. Pure. Failed episodes count only in `episodes/failed`; a statistic
 * over no episode is absent.
 */
import type { Episode, Version } from "../domain/Episode.ts";
import {
  entropyOf,
  executedActions,
  failed,
  penaltyOf,
  rewardOf,
  sampledTokens,
  succeeded,
  turnsOf,
} from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";
import { members } from "../domain/Group.ts";
import { type Info, ofEpisode } from "../domain/Info.ts";
import * as Catalogue from "../domain/metrics/episodes.ts";
import { type Metrics, measured, together } from "../domain/metrics/Metrics.ts";
import { staleness, windows } from "../domain/metrics/run.ts";
import { mean } from "../domain/Statistics.ts";

const byTag = (groups: readonly Group[]): ReadonlyMap<string, readonly Group[]> =>
  Map.groupBy(groups, ({ prompt }) => prompt.tag);

/** Mean of a list that has values; undefined of an empty one. */
const meanOf = (values: readonly number[]): number | undefined => (values.length === 0 ? undefined : mean(values));

const shareOf = <A>(items: readonly A[], is: (item: A) => boolean): number | undefined =>
  meanOf(items.map((item) => (is(item) ? 1 : 0)));

/** Mean over the episodes of what their environment reported, `success` aside; what an episode lacks counts as 0. */
const meanInfo = (episodes: readonly Episode[]): Info => {
  const infos = episodes.map((episode) => ofEpisode(turnsOf(episode).map((turn) => turn.info)));
  const keys = new Set(infos.flatMap(Object.keys));
  keys.delete("success");
  return Object.fromEntries(Array.from(keys, (key) => [key, mean(infos.map((info) => info[key] ?? 0))]));
};

const meanReturn = (episodes: readonly Episode[]): number | undefined =>
  meanOf(episodes.map((episode) => rewardOf(episode) + penaltyOf(episode)));

const ofTag = (split: Catalogue.Split, tag: string, groups: readonly Group[]): Metrics => {
  const { actions, info, pass, return: returned, success } = Catalogue.ofTag;
  const of = { split, tag };
  const episodes = groups.flatMap(members);
  const size = Math.max(...groups.map((group) => group.episodes.length));
  const played = groups.map(members).filter((usable) => usable.length > 0);
  return measured(
    [success.of(of), shareOf(episodes, succeeded)],
    [actions.of(of), meanOf(episodes.map(executedActions))],
    [returned.of(of), meanReturn(episodes)],
    [pass.of({ ...of, size: String(size) }), shareOf(played, (usable) => usable.some(succeeded))],
    ...Object.entries(meanInfo(episodes)).map(([key, value]) => [info.of({ ...of, info: key }), value] as const),
  );
};

/**
 * Success, returns, lengths and outcomes of the groups, by preset and over all. `failures` are groups that could not be used: their failed
 * episodes are counted, and nothing else of them.
 */
export const environmentMetrics = (
  split: Catalogue.Split,
  groups: readonly Group[],
  failures: readonly Group[] = [],
): Metrics => {
  const {
    cutByLength,
    entropy,
    parsed,
    responseLength,
    return: returned,
    success,
    turnLength,
    turns,
  } = Catalogue.episodes;
  const episodes = groups.flatMap(members);
  const played = episodes.flatMap(turnsOf);
  const all = [...groups, ...failures].flatMap((group) => group.episodes);
  const of = { split };
  return together(
    ...Array.from(byTag(groups), ([tag, groupsOfTag]) => ofTag(split, tag, groupsOfTag)),
    measured(
      [success.of(of), shareOf(episodes, succeeded)],
      [returned.of(of), meanReturn(episodes)],
      [responseLength.of(of), meanOf(episodes.map(sampledTokens))],
      [turns.of(of), meanOf(episodes.map((episode) => turnsOf(episode).length))],
      [turnLength.of(of), meanOf(played.map((turn) => turn.sampled.ids.length))],
      [parsed.of(of), shareOf(played, (turn) => turn.parsed)],
      [cutByLength.of(of), shareOf(played, (turn) => turn.sampled.finish === "length")],
      [entropy.of(of), meanOf(played.map((turn) => entropyOf(turn.sampled)))],
      [Catalogue.episodes.failed.of(of), all.filter(failed).length],
    ),
  );
};

/** Sampled tokens of an episode, and the share of episodes with a reply that was cut at its length limit. */
export const lengthMetrics = (groups: readonly Group[]): Metrics => {
  const episodes = groups.flatMap(members);
  if (episodes.length === 0) return measured();
  const { clipped, max, mean: average, min } = Catalogue.lengths;
  const lengths = episodes.map(sampledTokens);
  return measured(
    [average, mean(lengths)],
    [max, Math.max(...lengths)],
    [min, Math.min(...lengths)],
    [clipped, shareOf(episodes, (episode) => turnsOf(episode).some(({ sampled }) => sampled.finish === "length"))],
  );
};

/** Per-token staleness (`version` of the learner minus the token's) of the groups an update consumes. */
export const stalenessMetrics = (groups: readonly Group[], version: Version): Metrics => {
  let sum = 0;
  let count = 0;
  let max = 0;
  for (const { sampled } of groups.flatMap(members).flatMap(turnsOf)) {
    for (const sampledBy of sampled.versions) {
      sum += version - sampledBy;
      count++;
      max = Math.max(max, version - sampledBy);
    }
  }
  return count === 0 ? measured() : measured([staleness.mean, sum / count], [staleness.max, max]);
};

/** How trained episodes differ from generated ones, in length, success and reward: by what the filter and the bounds prefer. */
export const drift = (trained: readonly Group[], generated: readonly Group[]): Metrics => {
  const [part, all] = [trained, generated].map((groups) => groups.flatMap(members));
  const of = (statistic: (episodes: readonly Episode[]) => number | undefined) =>
    [statistic(part ?? []), statistic(all ?? [])] as const;
  const difference = ([a, b]: readonly [number | undefined, number | undefined]) =>
    a === undefined || b === undefined ? undefined : a - b;
  const [length, lengths] = of((episodes) => meanOf(episodes.map(sampledTokens)));
  return measured(
    [windows.lengthDrift, length === undefined || !lengths ? undefined : length / lengths],
    [windows.successDrift, difference(of((episodes) => shareOf(episodes, succeeded)))],
    [windows.rewardDrift, difference(of(meanReturn))],
  );
};
