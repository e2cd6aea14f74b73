/**
 * An estimator of advantages of the user's own: a module's default export (`algorithm.custom_estimator`) that sees the episodes of a window.
 * Invariant: its advantages are finite, one for each episode, turn or token; anything else is an error that says which.
 */
import { boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import { episodesOf, turnsIn } from "../../domain/BatchUnits.ts";
import { episodeScores } from "../../domain/Placement.ts";

/** One reply of an episode. */
export interface EstimatorTurn {
  /** Reward of the turn. Without `reward.use_turn_scores` the last turn has the episode's score and the others have 0. */
  readonly reward: number;
  /** Number of trained tokens in the reply. */
  readonly tokens: number;
  /** Log-probability of each of these tokens when it was sampled, nats, [tokens]. */
  readonly logProbs: Float32Array;
}

/** An episode of a window, as an estimator sees it. */
export interface EstimatorEpisode {
  /** Group of the episode: episodes of one group started from the same state. */
  readonly group: number;
  /** Total reward, after the run file's normalisation and penalties. */
  readonly score: number;
  readonly turns: readonly EstimatorTurn[];
}

/** The advantage of a whole turn, or of each of its trained tokens. */
export type TurnAdvantage = number | Float32Array | Float64Array;

/** The advantage of a whole episode, or of each of its turns. */
export type EpisodeAdvantage = number | readonly TurnAdvantage[];

/** An advantage estimator. Its advantages are finite: one for each episode, turn or token. */
export interface AdvantageEstimator {
  /** Returns one entry for each episode, in their order. A window may have groups of different sizes, because episodes can fail. */
  readonly estimate: (episodes: readonly EstimatorEpisode[]) => readonly EpisodeAdvantage[];
}

/** First and last position of a turn in the batch. */
type Bounds = readonly [first: number, last: number];

/** Positions of the turns of an episode, in the order they were played. */
const turnBounds = (batch: TokenBatch, sequences: readonly number[]): readonly Bounds[] =>
  sequences.flatMap((sequence) => {
    const [from, to] = boundsOf(batch, sequence);
    return turnsIn(batch.mask.subarray(from, to)).map(([first, last]): Bounds => [from + first, from + last]);
  });

const rewardsOf = (batch: TokenBatch, bounds: readonly Bounds[], score: number): readonly number[] =>
  batch.placement === "turn"
    ? bounds.map(([first, last]) => batch.rewards.subarray(first, last + 1).reduce((sum, reward) => sum + reward, 0))
    : bounds.map((_, turn) => (turn === bounds.length - 1 ? score : 0));

const episodeOf = (
  batch: TokenBatch,
  bounds: readonly Bounds[],
  { group, score }: Pick<EstimatorEpisode, "group" | "score">,
): EstimatorEpisode => {
  const rewards = rewardsOf(batch, bounds, score);
  const turns = bounds.map(([first, last], turn) => ({
    reward: rewards[turn]!,
    tokens: last + 1 - first,
    logProbs: batch.mu.slice(first, last + 1),
  }));
  return { group, score, turns };
};

const checkLength = (length: number, expected: number, what: string): void => {
  if (length !== expected) throw new Error(`algorithm.custom_estimator: it returned ${length} advantages for ${what}`);
};

const checkFinite = (advantage: unknown, place: string): void => {
  if (typeof advantage === "number" && Number.isFinite(advantage)) return;
  throw new Error(
    `algorithm.custom_estimator: it returned ${String(advantage)} as the advantage of ${place}; it is to be a finite number`,
  );
};

/** Writes the advantage of one turn to its positions. */
const writeTurn = (
  advantages: Float64Array,
  [first, last]: Bounds,
  advantage: TurnAdvantage | undefined,
  place: string,
): void => {
  const tokens = last + 1 - first;
  if (!ArrayBuffer.isView(advantage)) {
    checkFinite(advantage, place);
    advantages.fill(Number(advantage), first, last + 1);
    return;
  }
  checkLength(advantage.length, tokens, `the ${tokens} tokens of ${place}`);
  for (const [token, value] of advantage.entries()) checkFinite(value, `token ${token} of ${place}`);
  advantages.set(advantage, first);
};

const writeEpisode = (
  advantages: Float64Array,
  bounds: readonly Bounds[],
  advantage: EpisodeAdvantage | undefined,
  place: string,
): void => {
  if (!Array.isArray(advantage)) {
    checkFinite(advantage, place);
    for (const turn of bounds) writeTurn(advantages, turn, Number(advantage), place);
    return;
  }
  checkLength(advantage.length, bounds.length, `the ${bounds.length} turns of ${place}`);
  for (const [turn, turnBound] of bounds.entries()) {
    writeTurn(advantages, turnBound, advantage[turn], `turn ${turn} of ${place}`);
  }
};

/**
 * Returns the advantage of each trained token, 0 elsewhere, [tokens]. Throws an `Error` whose message says what the estimator returned
 * instead of finite advantages.
 */
export const estimateAdvantages = (batch: TokenBatch, { estimate }: AdvantageEstimator): Float64Array => {
  const scores = episodeScores(batch);
  const batchEpisodes = episodesOf(batch).map((sequences) => ({ sequences, bounds: turnBounds(batch, sequences) }));
  const episodes = batchEpisodes.map(({ bounds, sequences: [first = 0] }) =>
    episodeOf(batch, bounds, { group: batch.groups[first] ?? 0, score: scores[first] ?? 0 }),
  );
  const estimates: unknown = estimate(episodes);
  if (!Array.isArray(estimates))
    throw new Error(`algorithm.custom_estimator: it returned ${String(estimates)}, no list of advantages`);
  checkLength(estimates.length, episodes.length, `${episodes.length} episodes`);
  const advantages = new Float64Array(batch.ids.length);
  for (const [episode, { bounds }] of batchEpisodes.entries()) {
    writeEpisode(advantages, bounds, estimates[episode], `episode ${episode}`);
  }
  return advantages;
};
