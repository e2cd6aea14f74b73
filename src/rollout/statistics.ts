/**
 * Statistics of played episodes, under RAGEN's metric names. Pure. Success, returns and turns count episodes; response lengths count token
 * sequences (RAGEN's samples). Failed episodes count only in `episodes/failed` and among the endings; a statistic over nothing is absent.
 */
import type { Episode, Sequence, Version } from "../domain/Episode.ts";
import {
  entropyOf,
  executedActions,
  failed,
  penaltyOf,
  rewardOf,
  sampledTokens,
  succeeded,
  trainedSequences,
  turnsOf,
} from "../domain/Episode.ts";
import type { Validated } from "../domain/Event.ts";
import type { Group } from "../domain/Group.ts";
import { members } from "../domain/Group.ts";
import { episodeInfo, type Info } from "../domain/Info.ts";
import * as Catalogue from "../domain/metrics/episodes.ts";
import { type Metrics, mergeMetrics, metricsFrom, valueIn } from "../domain/metrics/Metrics.ts";
import { staleness, windows } from "../domain/metrics/run.ts";
import { mean, sum } from "../domain/Statistics.ts";
import { endingMetrics } from "./endings.ts";

const byTag = (groups: readonly Group[]): ReadonlyMap<string, readonly Group[]> =>
  Map.groupBy(groups, ({ prompt }) => prompt.tag);

/** Mean of a list that has values; undefined of an empty one. */
const meanOf = (values: readonly number[]): number | undefined => (values.length === 0 ? undefined : mean(values));

const shareOf = <A>(items: readonly A[], is: (item: A) => boolean): number | undefined =>
  meanOf(items.map((item) => (is(item) ? 1 : 0)));

/** The numbers of an episode: its actions, its share of turns without a legal one, and its environment's report without `success`. */
const numbersOf = (episode: Episode): Info => {
  const turns = turnsOf(episode);
  const { success: _, final_max_tile: tile, ...info } = episodeInfo(turns.map((turn) => turn.info));
  const raw = turns.flatMap(({ info: { raw_reward, total_raw_reward } }) => total_raw_reward ?? raw_reward ?? []);
  return {
    num_actions: executedActions(episode),
    ...(turns.length === 0
      ? {}
      : { manager_invalid_action: mean(turns.map(({ actions }) => Number(actions.length === 0))) }),
    ...info,
    ...(raw.length === 0 ? {} : { episodic_return: sum(raw) }),
    ...(tile === undefined ? {} : { max_tile: tile }),
  };
};

/** Means over the episodes of such numbers, and over those in which each is not 0. What an episode lacks counts as 0. */
const meanNumbers = (
  names: { readonly split: Catalogue.Split; readonly tag: string },
  episodes: readonly Episode[],
): Metrics => {
  const { info, nonZero, nonZeroTotal, total } = Catalogue.ofTag;
  const numbers = episodes.map(numbersOf);
  const keys = new Set(numbers.flatMap(Object.keys));
  return metricsFrom(
    ...Array.from(keys).flatMap((key) => {
      const values = numbers.map((numbersOfEpisode) => numbersOfEpisode[key] ?? 0);
      const parameters = { ...names, info: key.replace(/^total_/, "") };
      const [meanFamily, nonZeroFamily] = parameters.info === key ? [info, nonZero] : [total, nonZeroTotal];
      return [
        [meanFamily.of(parameters), mean(values)],
        [nonZeroFamily.of(parameters), meanOf(values.filter((value) => value !== 0))],
      ] as const;
    }),
  );
};

/** Sequences that play, and summaries that are trained: what response lengths are of. */
const responses = (episode: Episode): readonly Sequence[] =>
  episode.sequences.filter(({ summary }) => summary?.trained !== false);

const lengthOf = ({ turns }: Sequence): number => turns.reduce((sum, { sampled }) => sum + sampled.ids.length, 0);

/** Metrics that only some runs have: sequences an episode, summaries, and penalties other than the format's. */
const occasional = (split: Catalogue.Split, episodes: readonly Episode[]): Metrics => {
  const { penalty, sequences, summaryLength } = Catalogue.episodes;
  const several = episodes.some((episode) => episode.sequences.length > 1);
  const summaries = episodes.flatMap((episode) => episode.sequences.filter(({ summary }) => summary !== undefined));
  const penalties = episodes.map((episode) => turnsOf(episode).flatMap((turn) => Object.entries(turn.penalties ?? {})));
  const reasons = [...new Set(penalties.flat().map(([reason]) => reason))].sort();
  const lost = (reason: string) =>
    meanOf(penalties.map((parts) => parts.reduce((sum, [name, part]) => sum + (name === reason ? part : 0), 0)));
  return metricsFrom(
    [sequences.of({ split }), several ? meanOf(episodes.map((episode) => episode.sequences.length)) : undefined],
    [summaryLength.of({ split }), meanOf(summaries.map(lengthOf))],
    ...reasons.map((reason) => [penalty.of({ split, reason }), lost(reason)] as const),
  );
};

const meanReturn = (episodes: readonly Episode[]): number | undefined =>
  meanOf(episodes.map((episode) => rewardOf(episode) + penaltyOf(episode)));

const tagMetrics = (split: Catalogue.Split, tag: string, groups: readonly Group[]): Metrics => {
  const { pass, return: returned, success } = Catalogue.ofTag;
  const names = { split, tag };
  const episodes = groups.flatMap(members);
  const size = Math.max(...groups.map((group) => group.episodes.length));
  const playedGroups = groups.map(members).filter((usable) => usable.length > 0);
  return mergeMetrics(
    metricsFrom(
      [success.of(names), shareOf(episodes, succeeded)],
      [returned.of(names), meanReturn(episodes)],
      [pass.of({ ...names, size: String(size) }), shareOf(playedGroups, (usable) => usable.some(succeeded))],
    ),
    meanNumbers(names, episodes),
  );
};

/** The highest tile of any episode; undefined where no environment reports one. */
const highestTile = (episodes: readonly Episode[]): number | undefined => {
  const tiles = episodes.flatMap((episode) => numbersOf(episode).max_tile ?? []);
  return tiles.length === 0 ? undefined : Math.max(...tiles);
};

/**
 * Success, returns, lengths and outcomes of the groups, by preset and over all. `failures` are groups that could not be used: their
 * episodes count in `episodes/failed` and among the endings, and in nothing else.
 */
export const environmentMetrics = (
  split: Catalogue.Split,
  groups: readonly Group[],
  failures: readonly Group[] = [],
): Metrics => {
  const {
    cutByLength,
    entropy,
    maxTile,
    parsed,
    responseLength,
    return: returned,
    success,
    turnLength,
    turns,
  } = Catalogue.episodes;
  const episodes = groups.flatMap(members);
  const allTurns = episodes.flatMap(turnsOf);
  const allEpisodes = [...groups, ...failures].flatMap((group) => group.episodes);
  const names = { split };
  return mergeMetrics(
    ...Array.from(byTag(groups), ([tag, groupsOfTag]) => tagMetrics(split, tag, groupsOfTag)),
    metricsFrom(
      [success.of(names), shareOf(episodes, succeeded)],
      [returned.of(names), meanReturn(episodes)],
      [responseLength.of(names), meanOf(episodes.flatMap(responses).map(lengthOf))],
      [turns.of(names), meanOf(episodes.map((episode) => turnsOf(episode).length))],
      [turnLength.of(names), meanOf(allTurns.map((turn) => turn.sampled.ids.length))],
      [parsed.of(names), shareOf(allTurns, (turn) => turn.parsed)],
      [cutByLength.of(names), shareOf(allTurns, (turn) => turn.sampled.finish === "length")],
      [entropy.of(names), meanOf(allTurns.map((turn) => entropyOf(turn.sampled)))],
      [maxTile.of(names), highestTile(episodes)],
      [Catalogue.episodes.failed.of(names), allEpisodes.filter(failed).length],
    ),
    endingMetrics(
      split,
      allEpisodes.map(({ outcome }) => outcome),
    ),
    occasional(split, episodes),
  );
};

/** The shares that a validation's event carries, from its metrics. */
export const validationShares = (metrics: Metrics): Pick<Validated, "success" | "failed"> => {
  const success = valueIn(metrics, Catalogue.episodes.success.of({ split: "val-env" }));
  return { ...(success === undefined ? {} : { success }), ...failedShare("val-env", metrics) };
};

/** The share of the episodes that failed, as events tell it: absent where none did. */
export const failedShare = (split: Catalogue.Split, metrics: Metrics): { readonly failed?: number } => {
  const failed = valueIn(metrics, Catalogue.endings.share.of({ split, how: "failed" })) ?? 0;
  return failed === 0 ? {} : { failed };
};

/** Sampled tokens of a token sequence, and the share of sequences with a reply that was cut at its length limit. */
export const lengthMetrics = (groups: readonly Group[]): Metrics => {
  const sequences = groups.flatMap(members).flatMap(responses);
  if (sequences.length === 0) return metricsFrom();
  const { clipped, max, mean: average, min } = Catalogue.lengths;
  const lengths = sequences.map(lengthOf);
  return metricsFrom(
    [average, mean(lengths)],
    [max, Math.max(...lengths)],
    [min, Math.min(...lengths)],
    [clipped, shareOf(sequences, ({ turns }) => turns.some(({ sampled }) => sampled.finish === "length"))],
  );
};

/** Per-token staleness (`version` of the learner minus the token's) of the groups an update consumes. */
export const stalenessMetrics = (groups: readonly Group[], version: Version): Metrics => {
  let lag = 0;
  let count = 0;
  let max = 0;
  for (const { sampled } of groups
    .flatMap(members)
    .flatMap(trainedSequences)
    .flatMap(({ turns }) => turns)) {
    for (const sampledBy of sampled.versions) {
      lag += version - sampledBy;
      count++;
      max = Math.max(max, version - sampledBy);
    }
  }
  return count === 0 ? metricsFrom() : metricsFrom([staleness.mean, lag / count], [staleness.max, max]);
};

/** Differences between trained and generated episodes in length, success and reward, as the filter and the bounds make them. */
export const driftMetrics = (trained: readonly Group[], generated: readonly Group[]): Metrics => {
  const [trainedEpisodes, generatedEpisodes] = [trained, generated].map((groups) => groups.flatMap(members));
  const compare = (statistic: (episodes: readonly Episode[]) => number | undefined) =>
    [statistic(trainedEpisodes ?? []), statistic(generatedEpisodes ?? [])] as const;
  const difference = ([a, b]: readonly [number | undefined, number | undefined]) =>
    a === undefined || b === undefined ? undefined : a - b;
  const [length, lengths] = compare((episodes) => meanOf(episodes.map(sampledTokens)));
  return metricsFrom(
    [windows.lengthDrift, length === undefined || !lengths ? undefined : length / lengths],
    [windows.successDrift, difference(compare((episodes) => shareOf(episodes, succeeded)))],
    [windows.rewardDrift, difference(compare(meanReturn))],
  );
};
