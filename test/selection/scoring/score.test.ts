import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Turn } from "../../../src/domain/Episode.ts";
import type { Group, ScoredWindow, Window } from "../../../src/domain/Group.ts";
import { normalise } from "../../../src/selection/scoring/normalise.ts";
import { score } from "../../../src/selection/scoring/score.ts";
import { episodeOf, episodeOfTurns, failed, sampledOf, turnOf, won } from "../../build/episodes.ts";
import { groupOfEpisodes } from "../../build/groups.ts";
import { assertProperty } from "../../property.ts";

type Config = RunConfig["reward"];
const config: Config = { use_turn_scores: false, grouping: "state", method: "identity" };

const turn = (reward: number, penalty = 0): Turn =>
  turnOf({ prompt: new Int32Array(1), sampled: sampledOf(2), executed: 1, reward, penalty });

const group = (id: number, rewards: readonly number[], tag = "T"): Group =>
  groupOfEpisodes(
    id,
    rewards.map((reward, member) =>
      episodeOfTurns(id, member, [turn(0), turn(reward)], { outcome: Number.isNaN(reward) ? failed : won }),
    ),
    { tag },
  );

const window = (...groups: readonly Group[]): Window => ({ index: 4, groups });
const scores = (scored: ScoredWindow) => scored.groups.map((g) => g.episodes.map((e) => e.score));

describe("score", () => {
  it("adds the penalty to the rewards and leaves the sum to every token sequence", () => {
    const one: Group = {
      ...group(0, [0]),
      episodes: [episodeOfTurns(0, 0, [turn(-0.2, -0.1), turn(1, -0.1)])],
    };
    const [scored] = score(window(one), config).groups;
    expect(scored!.episodes[0]!.score).toBeCloseTo(0.6, 12);
    expect(scored!.episodes[0]).not.toHaveProperty("turnScores");
  });

  it("keeps each turn's own reward with turn scores, without penalty and normalisation", () => {
    const one: Group = {
      ...group(0, [0, 0]),
      episodes: [0, 1].map((m) => episodeOfTurns(0, m, [turn(2, -1), turn(m)])),
    };
    const [scored] = score(window(one), { use_turn_scores: true, grouping: "state", method: "mean_std" }).groups;
    expect(scored!.episodes.map((e) => e.turnScores)).toEqual([
      [2, 0],
      [2, 1],
    ]);
    expect(scored!.episodes.map((e) => e.score)).toEqual([2, 3]);
  });

  it("counts an episode once, however many token sequences it has", () => {
    const turns = [turn(1), turn(1)];
    const many = episodeOf(0, 0, { sequences: turns.map((one) => ({ turns: [one] })) });
    const one: Group = { ...group(0, [0, 4]), episodes: [many, episodeOfTurns(0, 1, [turn(4)])] };
    expect(scores(score(window(one), { ...config, method: "mean" }))).toEqual([[-1, 1]]);
  });

  it("normalises within the group, the tag or the batch", () => {
    const groups = [group(0, [0, 2], "A"), group(1, [4, 6], "A"), group(2, [8, 10], "B")];
    const by = (grouping: Config["grouping"]) =>
      scores(score(window(...groups), { ...config, grouping, method: "mean" }));
    expect(by("state")).toEqual([
      [-1, 1],
      [-1, 1],
      [-1, 1],
    ]);
    expect(by("inductive")).toEqual([
      [-3, -1],
      [1, 3],
      [-1, 1],
    ]);
    expect(by("batch")).toEqual([
      [-5, -3],
      [-1, 1],
      [3, 5],
    ]);
  });

  it("keeps failed members and failed groups out of every statistic", () => {
    const groups = [group(0, [0, 2, Number.NaN]), group(1, [100, Number.NaN])];
    const scored = score(window(...groups), { ...config, grouping: "batch", method: "mean" });
    expect(scores(scored)).toEqual([[-1, 1], [100]]);
    expect(scored.groups.map((g) => g.failures.length)).toEqual([1, 1]);
  });

  it("leaves totals as they are where every set is a single episode", () => {
    expect(scores(score(window(group(0, [3]), group(1, [5])), { ...config, method: "mean_std" }))).toEqual([[3], [5]]);
  });

  it("keeps the window's index and groups, and turn scores that sum to the score", () => {
    const reward = fc.oneof(fc.float({ noNaN: true, min: -20, max: 20 }), fc.constant(Number.NaN));
    assertProperty(
      fc.property(
        fc.array(fc.array(reward, { minLength: 1, maxLength: 5 }), { maxLength: 5 }),
        fc.constantFrom<Config["method"]>("identity", "mean", "mean_std", "asym_clip"),
        fc.constantFrom<Config["grouping"]>("state", "inductive", "batch"),
        fc.boolean(),
        (rewards, method, grouping, use_turn_scores) => {
          const scored = score(window(...rewards.map((r, i) => group(i, r))), { method, grouping, use_turn_scores });
          expect(scored.index).toBe(4);
          expect(scored.groups.map((g) => g.episodes.length + g.failures.length)).toEqual(rewards.map((r) => r.length));
          for (const { score: total, turnScores } of scored.groups.flatMap((g) => g.episodes)) {
            expect(Number.isFinite(total)).toBe(true);
            expect(turnScores !== undefined).toBe(use_turn_scores);
            expect(turnScores?.reduce((sum, value) => sum + value, 0) ?? total).toBeCloseTo(total, 10);
          }
        },
      ),
    );
  });
});

describe("normalise", () => {
  it("divides by the unbiased deviation", () => {
    const normalised = normalise.mean_std([1, 0, 0, 1, 0, 0, 0, 0]);
    expect(normalised[0]).toBeCloseTo(1.62018, 5);
    expect(normalised[1]).toBeCloseTo(-0.54006, 5);
  });

  it("clips to [-1, 3]", () => {
    const clipped = normalise.asym_clip([...Array(30).fill(0), 1]);
    expect(Math.max(...clipped)).toBe(3);
    expect(normalise.asym_clip([1, 1, 1, 1, 0])[4]).toBe(-1);
  });

  it("gives zeros where there is no spread", () => {
    for (const method of ["mean", "mean_std", "asym_clip"] as const) {
      expect(normalise[method]([0.3, 0.3, 0.3]).every((value) => Math.abs(value) < 1e-12)).toBe(true);
      expect(normalise[method]([7])).toEqual([0]);
    }
  });
});
