/**
 * The bias of crashes: episodes that were all played to their ends are failed by a rule afterwards, so that the truth is known. They are then scored
 * as training scores them, once with the failed ones left out and once with each counted as 0. Pure.
 */
import { type Episode, type Outcome, sampledTokens, succeeded, turnsOf } from "../src/domain/Episode.ts";
import type { Group } from "../src/domain/Group.ts";
import { type Random, stream } from "../src/domain/Random.ts";
import { mean } from "../src/domain/Statistics.ts";
import { score } from "../src/selection/scoring/score.ts";

/** The chance that an episode crashes, but for a factor, by the number of its calls. */
export const hazards = {
  "any episode": () => 1,
  "any call": (calls: number) => calls,
  "calls from the third on": (calls: number) => Math.max(0, calls - 2),
} as const satisfies Readonly<Record<string, (calls: number) => number>>;
export type Hazard = keyof typeof hazards;

/** Differences from the truth, as means over many draws of which episodes crash. */
export interface CrashBias {
  readonly crashed: number;
  /** Success of all episodes, none of which crashed. */
  readonly success: number;
  /** Success of those that crash, had they not. */
  readonly crashedSuccess: number;
  readonly masked: number;
  readonly zero: number;
  /** Cosine of the expected advantages with the true ones, over sampled tokens. */
  readonly maskedCosine: number;
  readonly zeroCosine: number;
  /** Mean advantage of crashed episodes that would have succeeded: the truth, and with a reward of 0. */
  readonly trueAdvantage: number;
  readonly zeroAdvantage: number;
}

const crash: Outcome = { _tag: "Failed", reason: "agent_crashed", message: "its thread ended" };
const failure: Outcome = { _tag: "Done", success: false };

/** The episode as one that is left out, or as one that earned nothing. */
const asCrashed = (episode: Episode): Episode => ({ ...episode, outcome: crash });
const asZero = (episode: Episode): Episode => ({
  ...episode,
  outcome: failure,
  sequences: episode.sequences.map((sequence) => ({
    ...sequence,
    turns: sequence.turns.map((turn) => ({ ...turn, reward: 0, penalty: 0 })),
  })),
});

/** Scores by episode, 0 for those that take no part. The quickstart's rule: rewards minus the mean of their group. */
const advantagesOf = (groups: readonly Group[]): readonly number[] => {
  const config = { grouping: "state", method: "mean", use_turn_scores: false } as const;
  const scored = score({ index: 0, groups }, config);
  const names = new Map(
    scored.groups.flatMap((group) =>
      group.episodes.map(({ episode, score }) => [`${episode.id.group} ${episode.id.member}`, score] as const),
    ),
  );
  return groups.flatMap((group) => group.episodes.map(({ id }) => names.get(`${id.group} ${id.member}`) ?? 0));
};

const cosine = (a: readonly number[], b: readonly number[], weights: readonly number[]): number => {
  const product = (x: readonly number[], y: readonly number[]): number =>
    weights.reduce((sum, weight, at) => sum + weight * (x[at] ?? 0) * (y[at] ?? 0), 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
};

const drawCrashes = (chances: readonly number[], random: Random): readonly boolean[] =>
  chances.map((chance) => random.uniform() < chance);

const shareOf = (episodes: readonly Episode[]): number => mean(episodes.map((episode) => (succeeded(episode) ? 1 : 0)));

/** The bias where `rate` of the episodes crash, as a hazard says. */
export const crashBias = (groups: readonly Group[], rate: number, hazard: Hazard, draws: number): CrashBias => {
  const episodes = groups.flatMap((group) => group.episodes);
  const risks = episodes.map((episode) => hazards[hazard](turnsOf(episode).length));
  const chances = risks.map((risk) => Math.min(1, (rate * risk) / mean(risks)));
  const truth = advantagesOf(groups);
  const success = shareOf(episodes);
  const totals = { masked: episodes.map(() => 0), zero: episodes.map(() => 0) };
  const lists = {
    ...{ crashed: [] as number[], crashedSuccess: [] as number[], masked: [] as number[], zero: [] as number[] },
    ...{ trueAdvantage: [] as number[], zeroAdvantage: [] as number[] },
  };
  const tokens = episodes.map(sampledTokens);
  for (let draw = 0; draw < draws; draw++) {
    const crashes = drawCrashes(chances, stream({ seed: draw, purpose: "noise", counters: [9] }));
    let at = 0;
    const changed = (change: (episode: Episode) => Episode): readonly Group[] => {
      at = 0;
      return groups.map((group) => ({
        ...group,
        episodes: group.episodes.map((episode) => (crashes[at++] === true ? change(episode) : episode)),
      }));
    };
    const masked = advantagesOf(changed(asCrashed));
    const zero = advantagesOf(changed(asZero));
    for (const index of episodes.keys()) {
      totals.masked[index] = (totals.masked[index] ?? 0) + (masked[index] ?? 0) / draws;
      totals.zero[index] = (totals.zero[index] ?? 0) + (zero[index] ?? 0) / draws;
    }
    const lost = episodes.filter((_, index) => crashes[index]);
    const left = episodes.filter((_, index) => !crashes[index]);
    lists.crashed.push(lost.length / episodes.length);
    lists.crashedSuccess.push(shareOf(lost));
    lists.masked.push(shareOf(left) - success);
    lists.zero.push((shareOf(left) * left.length) / episodes.length - success);
    for (const [index, episode] of episodes.entries()) {
      if (crashes[index] !== true || !succeeded(episode)) continue;
      lists.trueAdvantage.push(truth[index] ?? 0);
      lists.zeroAdvantage.push(zero[index] ?? 0);
    }
  }
  return {
    success,
    crashed: mean(lists.crashed),
    crashedSuccess: mean(lists.crashedSuccess),
    masked: mean(lists.masked),
    zero: mean(lists.zero),
    trueAdvantage: mean(lists.trueAdvantage),
    zeroAdvantage: mean(lists.zeroAdvantage),
    maskedCosine: cosine(totals.masked, truth, tokens),
    zeroCosine: cosine(totals.zero, truth, tokens),
  };
};

/** The mean number of calls of episodes that succeed and of those that do not. */
export const callsByEnd = (groups: readonly Group[]): { readonly success: number; readonly failure: number } => {
  const episodes = groups.flatMap((group) => group.episodes);
  const callsOf = (some: readonly Episode[]): number => mean(some.map((episode) => turnsOf(episode).length));
  return {
    success: callsOf(episodes.filter(succeeded)),
    failure: callsOf(episodes.filter((each) => !succeeded(each))),
  };
};
