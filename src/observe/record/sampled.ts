/**
 * Chooses the episodes of a step that are recorded, and adds the window's result. Groups are recorded whole, because the filter
 * compares the members of one.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { CreditedBatch } from "../../domain/Batch.ts";
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";
import type { JudgedGroup } from "../../domain/Event.ts";
import type { Group, ScoredWindow } from "../../domain/Group.ts";
import { stream } from "../../domain/Random.ts";
import type { FilterResult } from "../../selection/filtering/filter.ts";
import { judgedGroups, type WindowGroups } from "../../selection/filtering/filter.ts";
import { type GroupResult, type PieceDecoder, recordsOf } from "./episodeRecords.ts";

/** Draws `count` of the groups at random, alternating kept and other groups, also from one step to the next. */
const chooseGroups = (groups: readonly JudgedGroup[], count: number, seed: number, turn: number): readonly number[] => {
  const random = stream({ seed, purpose: "trajectories", counters: [turn] });
  const shuffled = random.shuffle(groups);
  const kept = shuffled.filter(({ verdict }) => verdict === "kept");
  const others = shuffled.filter(({ verdict }) => verdict !== "kept");
  const picked: number[] = [];
  for (let i = turn; picked.length < Math.min(count, groups.length); i++) {
    const next = (i % 2 === 0 ? kept : others).pop() ?? (i % 2 === 0 ? others : kept).pop();
    if (next !== undefined) picked.push(next.group);
  }
  return picked;
};

/** A window after its update. */
export interface ConsumedWindow {
  readonly window: WindowGroups & { readonly index: number };
  readonly scored: ScoredWindow;
  readonly filtered: FilterResult;
  /** The kept groups as the update trained on them; null if it trained on none. */
  readonly batch: CreditedBatch | null;
}

const groupResult = (config: RunConfig, { batch, scored }: ConsumedWindow, judged: JudgedGroup): GroupResult => {
  const episodes = scored.groups.find(({ prompt }) => prompt.group === judged.group)?.episodes ?? [];
  const scores = judged.verdict === "failed" ? [] : episodes;
  return {
    judged,
    scores: new Map(scores.map(({ episode, score }) => [episode.id.member, score])),
    batch: judged.verdict === "kept" ? batch : null,
    hasCriticValues: config.algorithm.adv_estimator === "gae",
  };
};

/** The records of a trained window; none if its step is not sampled. */
export const windowRecords = (
  config: RunConfig,
  consumed: ConsumedWindow,
  pieces: PieceDecoder,
): readonly EpisodeRecord[] => {
  const { trajectory_freq: frequency, trajectory_groups: count } = config.trainer;
  const { window } = consumed;
  const step = window.index + 1;
  if (frequency === 0 || window.index % frequency !== 0) return [];
  const judged = judgedGroups(consumed.filtered, window);
  const byGroup = new Map([...window.groups, ...window.failed].map((group) => [group.prompt.group, group]));
  const picked = new Set(chooseGroups(judged, count, config.run.seed, window.index / frequency));
  return judged
    .filter(({ group }) => picked.has(group))
    .flatMap((judgedGroup) => {
      const group = byGroup.get(judgedGroup.group);
      return group === undefined
        ? []
        : recordsOf({ step, split: "train" }, group, groupResult(config, consumed, judgedGroup), pieces);
    });
};

/** The records of the first `count` episodes of a validation, in whole groups. */
export const validationRecords = (
  groups: readonly Group[],
  step: number,
  count: number,
  pieces: PieceDecoder,
): readonly EpisodeRecord[] => {
  const recorded: Group[] = [];
  let episodes = 0;
  for (const group of groups) {
    if (episodes >= count) break;
    recorded.push(group);
    episodes += group.episodes.length;
  }
  return recorded.flatMap((group) => recordsOf({ step, split: "val" }, group, null, pieces));
};
