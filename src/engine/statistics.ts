/**
 * What a window's episodes say of themselves: per-tag success, actions, effectiveness, lengths, outcomes and staleness, under RAGEN's
 * metric names. Pure; enters a window, leaves flat metrics. Failed episodes count only in `episodes/failed`.
 */
import type { Episode, Version } from "../domain/Episode.ts";
import { executedActions, failed, penaltyOf, rewardOf, sampledTokens, succeeded, turnsOf } from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";
import { members } from "../domain/Group.ts";
import { type Info, ofEpisode } from "../domain/Info.ts";
import { mean } from "../domain/Statistics.ts";

export type Metrics = Readonly<Record<string, number>>;

const byTag = (groups: readonly Group[]): ReadonlyMap<string, readonly Group[]> => {
  const tags = new Map<string, Group[]>();
  for (const group of groups) {
    const list = tags.get(group.prompt.tag);
    if (list === undefined) tags.set(group.prompt.tag, [group]);
    else list.push(group);
  }
  return tags;
};

/** Mean over the episodes of what their environment told of them, `success` aside; what an episode lacks counts as 0. */
const meanInfo = (episodes: readonly Episode[]): Info => {
  const infos = episodes.map((episode) => ofEpisode(turnsOf(episode).map((turn) => turn.info)));
  const keys = new Set(infos.flatMap(Object.keys));
  keys.delete("success");
  return Object.fromEntries(Array.from(keys, (key) => [key, mean(infos.map((info) => info[key] ?? 0))]));
};

const meanReturn = (episodes: readonly Episode[]): number =>
  mean(episodes.map((episode) => rewardOf(episode) + penaltyOf(episode)));

/**
 * Metrics of the environments: `<prefix>/<tag>/success`, `/num_actions`, `/avg_episode_return`, `/pass@G`, info keys, and the batch-wide
 * lengths. `failures` are groups that could not be used: their failed episodes are counted, and nothing else of them.
 */
export const environmentMetrics = (
  prefix: string,
  groups: readonly Group[],
  failures: readonly Group[] = [],
): Metrics => {
  const metrics: Record<string, number> = {};
  for (const [tag, ofTag] of byTag(groups)) {
    const episodes = ofTag.flatMap(members);
    metrics[`${prefix}/${tag}/success`] = mean(episodes.map((episode) => (succeeded(episode) ? 1 : 0)));
    metrics[`${prefix}/${tag}/num_actions`] = mean(episodes.map(executedActions));
    metrics[`${prefix}/${tag}/avg_episode_return`] = meanReturn(episodes);
    const size = Math.max(...ofTag.map((group) => group.episodes.length));
    const played = ofTag.map(members).filter((usable) => usable.length > 0);
    metrics[`${prefix}/${tag}/pass@${size}`] = mean(played.map((usable) => (usable.some(succeeded) ? 1 : 0)));
    for (const [key, value] of Object.entries(meanInfo(episodes))) metrics[`${prefix}/${tag}/${key}`] = value;
  }
  const episodes = groups.flatMap(members);
  const turns = episodes.flatMap(turnsOf);
  metrics[`${prefix}/success`] = mean(episodes.map((episode) => (succeeded(episode) ? 1 : 0)));
  metrics[`${prefix}/charts/avg_episode_return`] = meanReturn(episodes);
  metrics[`${prefix}/response_length`] = mean(episodes.map(sampledTokens));
  metrics[`${prefix}/turns`] = mean(episodes.map((episode) => turnsOf(episode).length));
  metrics[`${prefix}/turn_length`] = mean(turns.map((turn) => turn.sampled.ids.length));
  metrics[`${prefix}/parsed`] = mean(turns.map((turn) => (turn.parsed ? 1 : 0)));
  metrics[`${prefix}/cut_by_length`] = mean(turns.map((turn) => (turn.sampled.finish === "length" ? 1 : 0)));
  metrics[`${prefix}/entropy`] = mean(turns.map((turn) => turn.sampled.entropy));
  const all = [...groups, ...failures].flatMap((group) => group.episodes);
  metrics[`${prefix}/episodes/failed`] = all.filter(failed).length;
  return metrics;
};

/** Sampled tokens of an episode, and the share of episodes with a reply that was cut at its length limit. */
export const lengthMetrics = (groups: readonly Group[]): Metrics => {
  const episodes = groups.flatMap(members);
  const lengths = episodes.map(sampledTokens);
  if (lengths.length === 0) return {};
  const cut = episodes.map((episode) => (turnsOf(episode).some(({ sampled }) => sampled.finish === "length") ? 1 : 0));
  return {
    "response_length/mean": mean(lengths),
    "response_length/max": Math.max(...lengths),
    "response_length/min": Math.min(...lengths),
    "response_length/clip_ratio": mean(cut),
  };
};

/** Per-token staleness (learner's version minus the token's) of the groups an update consumes. */
export const stalenessMetrics = (groups: readonly Group[], version: Version): Metrics => {
  let sum = 0;
  let count = 0;
  let max = 0;
  for (const group of groups) {
    for (const episode of members(group)) {
      for (const turn of turnsOf(episode)) {
        for (const sampledBy of turn.sampled.versions) {
          const staleness = version - sampledBy;
          sum += staleness;
          count++;
          if (staleness > max) max = staleness;
        }
      }
    }
  }
  return { "staleness/mean": count === 0 ? 0 : sum / count, "staleness/max": max };
};

/** Mean sampled tokens of trained over generated episodes: 1 when the filter and the bounds do not prefer a length. */
export const lengthDrift = (trained: readonly Group[], generated: readonly Group[]): Metrics => {
  const length = (groups: readonly Group[]) => mean(groups.flatMap(members).map(sampledTokens));
  const all = length(generated);
  return { "drift/trained_length_ratio": all === 0 || trained.length === 0 ? 1 : length(trained) / all };
};
