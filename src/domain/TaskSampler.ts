/**
 * Chooses the levels that training's groups play, by how much a group of each level is expected to teach for its cost. Pure: a level is a
 * function of the run's seed, the group's number and a posterior. Invariant: a window's posterior is decided by a count of consumed
 * windows, so neither a resume nor the order in which groups finish changes a draw.
 *
 * The weight of a level is OpenEnv's (RFC 013): the chance that a group of G episodes has successes and failures, plus epsilon, over its cost.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";
import { succeeded } from "./Episode.ts";
import { type Group, groupTokens, members, type Prompt } from "./Group.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "./metrics/Metrics.ts";
import { sampler as catalogue } from "./metrics/run.ts";
import { stream } from "./Random.ts";
import { mean, sum } from "./Statistics.ts";

const amount = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0));

/** The results of a level's episodes; older windows count less. */
export const LevelCounts = Schema.Struct({ successes: amount, failures: amount, tokens: amount });
export type LevelCounts = typeof LevelCounts.Type;

/** Counts by the tag of the level. A level that is missing was not played. */
export const Posterior = Schema.Record(Schema.String, LevelCounts);
export type Posterior = typeof Posterior.Type;

export const TaskSampler = Schema.Struct({
  /** Windows that admission may run ahead of consumption. */
  lead: Count,
  /** The posteriors after the last `lead` + 1 consumed windows, oldest first. Before the first window it is the empty one. */
  posteriors: Schema.NonEmptyArray(Posterior),
});
/** The posteriors from which the levels of a run's open windows are drawn. */
export type TaskSampler = typeof TaskSampler.Type;

/** The results of a window's groups by level, as the event of its consumption carries them. */
export interface LevelResults {
  /** The factor by which earlier windows' counts shrink. */
  readonly forget: number;
  readonly counts: Posterior;
}

/** The rule by which levels are weighed. */
export interface Weighing {
  readonly by: "uniform" | "difficulty";
  /** Added to the expected share of mixed groups, so that a level without one keeps a weight. */
  readonly epsilon: number;
  /** The share of the groups that is spread evenly over the levels. */
  readonly floor: number;
  /** The divisor of a level's weight. */
  readonly cost: "tokens" | "none";
  /** Episodes of a group. */
  readonly groupSize: number;
}

/** A level of a preset with the probability of drawing it, and what that comes from. */
export interface WeighedLevel {
  /** The tag under which the level is played. */
  readonly tag: string;
  readonly probability: number;
  /** Mean of the posterior of success. */
  readonly success: number;
  /** Episodes that the posterior remembers; older ones count less. */
  readonly episodes: number;
  /** The expected share of groups with both a success and a failure. */
  readonly mixed: number;
  /** Tokens of an episode, relative to the mean over the levels. */
  readonly cost: number;
}

/** The sampler of a new run, or of one that goes on with `earlier` and perhaps another lead. */
export const start = (lead: number, earlier: TaskSampler | null = null): TaskSampler => ({
  lead,
  posteriors: earlier?.posteriors ?? [{}],
});

const empty: LevelCounts = { successes: 0, failures: 0, tokens: 0 };

const forgotten = (counts: LevelCounts, forget: number): LevelCounts => ({
  successes: counts.successes * forget,
  failures: counts.failures * forget,
  tokens: counts.tokens * forget,
});

const added = (a: LevelCounts, b: LevelCounts): LevelCounts => ({
  successes: a.successes + b.successes,
  failures: a.failures + b.failures,
  tokens: a.tokens + b.tokens,
});

/** The posterior after one more window: what was counted before shrinks, of every level. */
export const update = (posterior: Posterior, { counts, forget }: LevelResults): Posterior =>
  Object.fromEntries(
    [...new Set([...Object.keys(posterior), ...Object.keys(counts)])].map((tag) => [
      tag,
      added(forgotten(posterior[tag] ?? empty, forget), counts[tag] ?? empty),
    ]),
  );

/** The posterior after all consumed windows. */
export const newest = ({ posteriors }: TaskSampler): Posterior => posteriors.at(-1) ?? posteriors[0];

/** The sampler once one more window is consumed. Without `results` its episodes are unknown, and the posterior stays. */
export const consume = (sampler: TaskSampler, results: LevelResults | undefined): TaskSampler => {
  const before = newest(sampler);
  const after = results === undefined ? before : update(before, results);
  const [first, ...rest] = [...sampler.posteriors, after].slice(-(sampler.lead + 1));
  return { ...sampler, posteriors: [first ?? after, ...rest] };
};

/**
 * The posterior from which `window` is drawn when `consumed` windows are consumed: that after max(0, window - lead) of them. It is the oldest
 * one that is kept where that one is forgotten: in a run that goes on with a larger lead, or for a refill whose window is consumed already.
 */
export const posteriorFor = ({ lead, posteriors }: TaskSampler, consumed: number, window: number): Posterior => {
  const age = consumed - Math.max(0, window - lead);
  return posteriors[Math.max(0, posteriors.length - 1 - age)] ?? posteriors[0];
};

/** Mean of the posterior, whose prior has one success and one failure. */
const successOf = ({ failures, successes }: LevelCounts): number => (1 + successes) / (2 + successes + failures);

/** Tokens of an episode of each level. A level with few episodes is drawn to the mean over all episodes, as if it had one such. */
const tokensPerEpisode = (counts: readonly LevelCounts[]): readonly number[] => {
  const episodes = counts.map(({ failures, successes }) => failures + successes);
  const tokens = counts.map((count) => count.tokens);
  const overall = sum(episodes) > 0 ? sum(tokens) / sum(episodes) : 0;
  return tokens.map((count, i) => (count + overall) / (episodes[i]! + 1));
};

/** Costs relative to their mean; 1 where nothing was sampled. */
const relativeCosts = (counts: readonly LevelCounts[]): readonly number[] => {
  const costs = tokensPerEpisode(counts);
  const average = mean(costs);
  return costs.map((cost) => (average > 0 && cost > 0 ? cost / average : 1));
};

/** The levels with their probabilities, which sum to 1. */
export const weigh = (posterior: Posterior, tags: readonly string[], weighing: Weighing): readonly WeighedLevel[] => {
  const { by, epsilon, floor, groupSize } = weighing;
  const counts = tags.map((tag) => posterior[tag] ?? empty);
  const costs = relativeCosts(counts);
  const levels = counts.map((count, i) => {
    const success = successOf(count);
    const mixed = 1 - success ** groupSize - (1 - success) ** groupSize;
    return { tag: tags[i]!, success, episodes: count.successes + count.failures, mixed, cost: costs[i]! };
  });
  const weightOf = ({ cost, mixed }: (typeof levels)[number]): number =>
    by === "uniform" ? 1 : (mixed + epsilon) / (weighing.cost === "tokens" ? cost : 1);
  const weights = levels.map(weightOf);
  const total = sum(weights);
  const even = 1 / tags.length;
  return levels.map((level, i) => ({
    ...level,
    probability: floor * even + (1 - floor) * (total > 0 ? weights[i]! / total : even),
  }));
};

/** The level of a group. Throws a RangeError for an empty list. */
export const draw = (levels: readonly WeighedLevel[], seed: number, group: number): WeighedLevel => {
  let left = stream({ seed, purpose: "level", counters: [group] }).uniform();
  for (const level of levels) {
    left -= level.probability;
    if (left < 0) return level;
  }
  // The probabilities may sum to a little less than 1.
  const last = levels.at(-1);
  if (last === undefined) throw new RangeError("there is no level to draw");
  return last;
};

/** The counts of groups by the tags that they played. Failed episodes count nothing. */
export const countLevels = (groups: readonly Group[]): Posterior => {
  const counts: Record<string, LevelCounts> = {};
  for (const group of groups) {
    const { tag } = group.prompt;
    const episodes = members(group);
    const successes = episodes.filter(succeeded).length;
    const tokens = groupTokens({ ...group, episodes });
    counts[tag] = added(counts[tag] ?? empty, { successes, failures: episodes.length - successes, tokens });
  }
  return counts;
};

/** The levels of one preset as metrics: how they are weighed, and their share of a window's groups. */
export const metrics = (levels: readonly WeighedLevel[], groups: readonly { readonly prompt: Prompt }[]): Metrics => {
  const { cost, episodes, mixed, probability, share, success } = catalogue;
  const tags = new Set(levels.map(({ tag }) => tag));
  const tagsOfGroups = groups.map(({ prompt }) => prompt.tag).filter((tag) => tags.has(tag));
  return mergeMetrics(
    ...levels.map((level) => {
      const { tag } = level;
      const shareOfGroups = tagsOfGroups.filter((each) => each === tag).length / tagsOfGroups.length;
      return metricsFrom(
        [share.of({ tag }), shareOfGroups],
        [probability.of({ tag }), level.probability],
        [success.of({ tag }), level.success],
        [episodes.of({ tag }), level.episodes],
        [mixed.of({ tag }), level.mixed],
        [cost.of({ tag }), level.cost],
      );
    }),
  );
};
