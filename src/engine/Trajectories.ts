/**
 * Sampled episodes in the run's folder, one JSON object a line: what was shown, what was sampled with its log-probabilities and versions,
 * what it earned. Enters: the groups of a step; leaves: lines of trajectories.jsonl.
 */
import { Effect } from "effect";
import type { Episode } from "../domain/Episode.ts";
import { penaltyOf, rewardOf, succeeded, turnsOf } from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";
import { appendLine, type RunFolder } from "./RunFolder.ts";

export interface Origin {
  readonly step: number;
  readonly split: "train" | "val";
}

const rounded = (values: Float32Array): readonly number[] =>
  Array.from(values, (value) => Math.round(value * 1e4) / 1e4);

export const toJson = (origin: Origin, episode: Episode) => ({
  ...origin,
  group: episode.id.group,
  member: episode.id.member,
  tag: episode.tag,
  seed: episode.seed,
  success: succeeded(episode),
  reward: rewardOf(episode),
  penalty: penaltyOf(episode),
  outcome: episode.outcome,
  messages: turnsOf(episode).flatMap((turn) => [
    { role: "user", content: turn.state },
    { role: "assistant", content: turn.reply },
  ]),
  turns: turnsOf(episode).map((turn) => ({
    prompt_ids: Array.from(turn.prompt),
    ids: Array.from(turn.sampled.ids),
    mu: rounded(turn.sampled.mu),
    versions: Array.from(turn.sampled.versions),
    finish: turn.sampled.finish,
    parsed: turn.parsed,
    actions: turn.actions,
    executed: turn.executed,
    reward: turn.reward,
    penalty: turn.penalty,
    info: turn.info,
  })),
});

/** Appends the first `count` episodes, one of each group before a second of any. */
export const append = (folder: RunFolder, origin: Origin, groups: readonly Group[], count: number) => {
  const sampled = groups
    .flatMap(({ episodes }) => episodes)
    .sort((a, b) => a.id.member - b.id.member || a.id.group - b.id.group)
    .slice(0, count);
  return Effect.forEach(sampled, (episode) => appendLine(folder.trajectories, toJson(origin, episode)), {
    discard: true,
  });
};
