/**
 * Sampled episodes in the run's folder, one JSON object for each token sequence of an episode: what was shown, what was sampled with its
 * log-probabilities and versions, what it earned.
 */
import { Effect } from "effect";
import { type Episode, penaltyOf, rewardOf, type Sequence, succeeded } from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";
import { appendLine } from "./RunFolder.ts";

/** Version of the lines' shape. */
export const SCHEMA = 2;

export interface Origin {
  readonly step: number;
  readonly split: "train" | "val";
}

const rounded = (values: Float32Array): readonly number[] =>
  Array.from(values, (value) => Math.round(value * 1e4) / 1e4);

/** One sequence of an episode; rewards, penalty and outcome are the whole episode's. */
export const toJson = (origin: Origin, episode: Episode, { turns }: Sequence, sequence: number) => ({
  schema: SCHEMA,
  ...origin,
  group: episode.id.group,
  member: episode.id.member,
  sequence,
  tag: episode.tag,
  seed: episode.seed,
  success: succeeded(episode),
  reward: rewardOf(episode),
  penalty: penaltyOf(episode),
  outcome: episode.outcome,
  messages: turns.flatMap((turn) => [
    { role: "user", content: turn.state },
    { role: "assistant", content: turn.reply },
  ]),
  turns: turns.map((turn) => ({
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

/** Appends the first `count` episodes to the file at `path`, one of each group before a second of any. */
export const append = (path: string, origin: Origin, groups: readonly Group[], count: number) => {
  const sampled = groups
    .flatMap(({ episodes }) => episodes)
    .sort((a, b) => a.id.member - b.id.member || a.id.group - b.id.group)
    .slice(0, count);
  const lines = sampled.flatMap((episode) =>
    episode.sequences.map((sequence, index) => toJson(origin, episode, sequence, index)),
  );
  return Effect.forEach(lines, (line) => appendLine(path, line), { discard: true });
};
