import { describe, expect, it } from "vitest";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Episode } from "../../../src/domain/Episode.ts";
import type { ScoredGroup, ScoredWindow } from "../../../src/domain/Group.ts";
import { filter as catalogue } from "../../../src/domain/metrics/filter.ts";
import { toRecord, valueIn } from "../../../src/domain/metrics/Metrics.ts";
import { filter, verdictName } from "../../../src/selection/filtering/filter.ts";
import { episodeEntropy, groupScore } from "../../../src/selection/filtering/groupScore.ts";
import { configWith } from "../../build/config.ts";
import { episodeOf, episodeOfTurns, failed, sampledOf, turnOf } from "../../build/episodes.ts";
import { scoredGroupOf } from "../../build/groups.ts";

type Config = RunConfig["filter"];
const config = configWith({ filter: { value: 0.9, include_zero: false } }).filter;

/** An episode whose turns are [tokens, mean entropy]. */
const episode = (group: number, member: number, turns: readonly (readonly [number, number])[]): Episode =>
  episodeOfTurns(
    group,
    member,
    turns.map(([tokens, entropy]) =>
      turnOf({ sampled: sampledOf(tokens, { entropies: new Float32Array(tokens).fill(entropy) }) }),
    ),
  );

const group = (id: number, scores: readonly number[], failures = 0): ScoredGroup =>
  scoredGroupOf(
    id,
    scores.map((score, member) => ({ episode: episode(id, member, [[member + 1, 0.5]]), score, turnScores: [score] })),
    Array.from({ length: failures }, (_, i) => episodeOf(id, scores.length + i, { outcome: failed })),
  );

const window = (...groups: readonly ScoredGroup[]): ScoredWindow => ({ index: 0, groups });

describe("filter", () => {
  const mixed = window(group(5, [1, 1]), group(6, [0, 0.1]), group(7, [0, 10]), group(8, [3], 1));

  it("keeps whole groups in the window's order", () => {
    const { kept } = filter(window(group(1, [0, 4]), group(2, [1, 1]), group(3, [0, 6])), config);
    expect(kept.map((g) => g.prompt.group)).toEqual([1, 3]);
  });

  it("gives every group one verdict, with its reason and score", () => {
    const deviation = Math.sqrt(0.5);
    expect(filter(mixed, config).verdicts).toEqual([
      { _tag: "Dropped", group: 5, reason: "zero", score: 0 },
      { _tag: "Dropped", group: 6, reason: "rule", score: expect.closeTo(0.1 * deviation, 12) },
      { _tag: "Kept", group: 7, score: expect.closeTo(10 * deviation, 12) },
      { _tag: "Failed", group: 8 },
    ]);
  });

  it("counts the kept share over all groups of the window", () => {
    const { keptRatio, metrics } = filter(mixed, config);
    expect(keptRatio).toBe(0.25);
    expect(toRecord(metrics)).toMatchObject({
      "rollout/filter_kept_count": 1,
      "rollout/filter_kept_ratio": 0.25,
      "rollout/filter_zero_count": 1,
      "rollout/empty_after_filter": 0,
    });
  });

  it("averages the statistics of each group, before and after", () => {
    const { metrics } = filter(mixed, config);
    expect(valueIn(metrics, catalogue.max)).toBeCloseTo((1 + 0.1 + 10) / 3, 12);
    expect(valueIn(metrics, catalogue.chosenMean)).toBe(5);
    expect(valueIn(metrics, catalogue.chosenRewardSum)).toBe(10);
    expect(valueIn(metrics, catalogue.lengthMean)).toBe(1.5);
    expect(valueIn(metrics, catalogue.chosenEntropyStd)).toBe(0);
  });

  it("answers with an empty selection where nothing is to be learnt", () => {
    const { kept, metrics } = filter(window(group(1, [1, 1]), group(2, [2, 2])), config);
    expect(kept).toEqual([]);
    expect(valueIn(metrics, catalogue.empty)).toBe(1);
    expect([...metrics.values()].every(Number.isFinite)).toBe(true);
  });

  it("reports no statistic of kept groups where none was kept, and none at all of failed groups", () => {
    const counts = [catalogue.keptCount, catalogue.keptRatio, catalogue.zeroCount, catalogue.empty].map(
      ({ name }) => name,
    );
    const { metrics } = filter(window(group(1, [1, 1])), config);
    expect(valueIn(metrics, catalogue.mean)).toBe(1);
    expect([...metrics.keys()].filter((name) => name.includes("chosen"))).toEqual([]);
    const failed = filter(window(group(1, [3], 1)), config).metrics;
    expect([...failed]).toEqual(counts.map((name) => [name, name.includes("empty") ? 1 : 0]));
  });

  it("reports no deviation within groups of one, and no entropy of episodes that sampled nothing", () => {
    const silent = { episode: episode(1, 0, []), score: 1, turnScores: [] };
    const single: ScoredGroup = { ...group(1, [1]), episodes: [silent] };
    const { metrics } = filter(window(single), config);
    expect(valueIn(metrics, catalogue.mean)).toBe(1);
    expect([...metrics.keys()].filter((name) => /std|entropy/.test(name))).toEqual([]);
  });

  it("takes the unnamed statistics of what its metric is of", () => {
    const { metrics } = filter(mixed, { ...config, metric: "length", strategy: "top_k", value: 1 });
    expect(valueIn(metrics, catalogue.mean)).toBe(valueIn(metrics, catalogue.lengthMean));
    expect(valueIn(metrics, catalogue.chosenStd)).toBe(valueIn(metrics, catalogue.chosenLengthStd));
    expect(valueIn(metrics, catalogue.rewardMax)).toBeCloseTo((1 + 0.1 + 10) / 3, 12);
  });

  it("trains on the oldest where more than the target are kept, and calls the others surplus", () => {
    const groups = window(group(1, [0, 1]), group(2, [1, 1]), group(3, [0, 9]), group(4, [0, 2]));
    const all: Config = { ...config, value: 1, refill: { ...config.refill, target: 2 } };
    const { kept, keptRatio, metrics, verdicts } = filter(groups, all);
    expect(kept.map((g) => g.prompt.group)).toEqual([1, 3]);
    expect(verdicts.map(verdictName)).toEqual(["kept", "zero", "kept", "surplus"]);
    expect([keptRatio, valueIn(metrics, catalogue.surplus)]).toEqual([0.5, 1]);
  });

  it("keeps within_group the episodes of each group that differ most, and every group", () => {
    const within: Config = { ...config, strategy: "within_group", value: 0.5, include_zero: true };
    const { kept, keptRatio, metrics, verdicts } = filter(window(group(1, [0, 5, 4, 9]), group(2, [1, 1])), within);
    expect(kept.map(({ episodes }) => episodes.map(({ episode }) => episode.id.member))).toEqual([[0, 3], [1]]);
    expect(verdicts.map(verdictName)).toEqual(["kept", "kept"]);
    expect(keptRatio).toBe(0.5);
    expect(valueIn(metrics, catalogue.withinGroup)).toBe(1.5);
  });

  it("keeps every usable group at RAGEN's defaults", () => {
    const { kept } = filter(mixed, { ...config, value: 1, include_zero: true });
    expect(kept.map((g) => g.prompt.group)).toEqual([5, 6, 7]);
  });
});

describe("group scores", () => {
  it("weigh entropy by tokens", () => {
    expect(
      episodeEntropy(
        episode(0, 0, [
          [1, 2],
          [3, 0.5],
        ]),
      ),
    ).toBeCloseTo((2 + 3 * 0.5) / 4, 12);
    expect(episodeEntropy(episode(0, 0, []))).toBe(0);
  });

  it("are the unbiased deviation, mean, sum and mean length", () => {
    const scored = group(0, [1, 2, 6]);
    expect(groupScore.reward_variance(scored)).toBeCloseTo(Math.sqrt(7), 12);
    expect(groupScore.reward(scored)).toBe(3);
    expect(groupScore.reward_sum(scored)).toBe(9);
    expect(groupScore.length(scored)).toBe(2);
    expect(groupScore.entropy(scored)).toBe(0.5);
    expect(groupScore.entropy_variance(scored)).toBe(0);
  });
});
