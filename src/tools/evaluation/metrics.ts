/** Metrics of finished episodes: those of a validation, computed by the same function. */
import type { Episode, Sampled, Sequence, Turn } from "../../domain/Episode.ts";
import type { Group } from "../../domain/Group.ts";
import { episodes as catalogue } from "../../domain/metrics/episodes.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { endingMetrics } from "../../rollout/endings.ts";
import { environmentMetrics } from "../../rollout/statistics.ts";
import {
  type EvaluatedEpisode,
  type EvaluatedSequence,
  type EvaluatedTurn,
  type Replied,
  repliesOf,
  sequencesOf,
} from "./EvaluatedEpisode.ts";

/** As many tokens as the reply had, for counting, with unknown ids. Each has the reply's mean entropy, or NaN where it is not known. */
const counted = ({ entropy, finish, tokens }: Replied): Sampled => {
  const length = tokens ?? 0;
  return {
    ids: new Int32Array(length),
    mu: new Float32Array(0),
    versions: new Int32Array(0),
    entropies: new Float32Array(length).fill(entropy ?? Number.NaN),
    finish: finish === "length" ? "length" : "stop",
  };
};

const turnOf = (turn: EvaluatedTurn): Turn => ({
  ...turn,
  prompt: new Int32Array(0),
  sampled: counted(turn),
  reply: "",
});

const emptyTurn = { actions: [], executed: 0, reward: 0, penalty: 0, info: {}, parsed: true, reply: "", state: "" };

const sequenceOf = (sequence: EvaluatedSequence, trained: boolean): Sequence => {
  if (sequence._tag === "Played") return { turns: sequence.turns.map(turnOf) };
  const turn = { ...emptyTurn, prompt: new Int32Array(0), sampled: counted(sequence.summary) };
  return { turns: [turn], summary: { trained } };
};

const episodeOf = (episode: EvaluatedEpisode, trained: boolean): Episode => {
  const { group, member, outcome, seed, tag } = episode;
  const sequences = sequencesOf(episode).map((sequence) => sequenceOf(sequence, trained));
  return { id: { group, member }, tag, seed, sequences, outcome };
};

/** These groups serve counting alone: their episodes have no tokens, and never leave this file. */
const groupsOf = (episodes: readonly EvaluatedEpisode[], { size, summaries }: MetricOptions): readonly Group[] =>
  [...Map.groupBy(episodes, ({ group }) => group)].flatMap(([group, members]) => {
    const [first] = members;
    if (first === undefined) return [];
    const { seed, tag } = first;
    const prompt = { group, tag, seed, size, admittedAt: 0 };
    return [{ prompt, episodes: members.map((member) => episodeOf(member, summaries)) }];
  });

/** Facts that the episodes do not show. */
export interface MetricOptions {
  /** Episodes of each instance. */
  readonly size: number;
  /** Episodes that could not be played. */
  readonly failures: number;
  /** True when a chat endpoint played, which may filter. */
  readonly endpoint: boolean;
  /** True when summaries are trained on (`rollout.train_summary`), so that they count as responses. */
  readonly summaries: boolean;
}

/**
 * Success, returns and lengths of the episodes by preset and over all, under the names of a validation. Lengths are absent where a reply's tokens
 * were not counted.
 */
export const metricsOf = (episodes: readonly EvaluatedEpisode[], options: MetricOptions): Metrics => {
  const { endpoint, failures } = options;
  const labels = { split: "val-env" } as const;
  const turns = episodes.flatMap((episode) => episode.turns);
  const filtered = turns.filter(({ finish }) => finish === "filtered").length / turns.length;
  const metrics = new Map(
    mergeMetrics(
      environmentMetrics("val-env", groupsOf(episodes, options)),
      endingMetrics(
        "val-env",
        episodes.map(({ outcome }) => outcome),
        failures,
      ),
      metricsFrom([catalogue.filtered.of(labels), endpoint ? filtered : undefined]),
    ),
  );
  metrics.set(catalogue.failed.of(labels).name, failures);
  if (episodes.flatMap(repliesOf).some(({ tokens }) => tokens === null)) {
    const { responseLength, summaryLength, turnLength } = catalogue;
    for (const { name } of [responseLength.of(labels), summaryLength.of(labels), turnLength.of(labels)])
      metrics.delete(name);
  }
  return metrics;
};
