import { describe, expect, it } from "vitest";
import type { Outcome, TruncationReason, Turn } from "../../src/domain/Episode.ts";
import type { Group } from "../../src/domain/Group.ts";
import type { Info } from "../../src/domain/Info.ts";
import { type Metrics, mergeMetrics, toRecord } from "../../src/domain/metrics/Metrics.ts";
import { driftMetrics, environmentMetrics, lengthMetrics, stalenessMetrics } from "../../src/rollout/statistics.ts";
import { lost, sampledOf, turnOf, won } from "../build/episodes.ts";
import { groupOf } from "../build/groups.ts";

const turn = (info: Info): Turn =>
  turnOf({
    prompt: new Int32Array(2),
    sampled: sampledOf(3, { entropies: new Float32Array(3).fill(1) }),
    actions: ["Up"],
    executed: 1,
    reward: 1,
    info,
  });

const broken: Outcome = { _tag: "Failed", reason: "step_timeout", message: "no answer" };

const group = (id: number, outcomes: readonly Outcome[], infos: readonly Info[] = [{}]): Group =>
  groupOf(id, outcomes, { tag: "Maze", sequences: [{ turns: infos.map(turn) }] });

const endingsOf = (metrics: Metrics): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(toRecord(metrics)).filter(([name]) => name.includes("/ended/")));

describe("metrics of a window", () => {
  it("leave failed episodes out of success and count them", () => {
    const metrics = environmentMetrics("train", [group(0, [won, lost, broken])]);
    expect(toRecord(metrics)).toMatchObject({
      "train/Maze/success": 1 / 2,
      "train/success": 1 / 2,
      "train/episodes/failed": 1,
    });
  });

  it("count response lengths by token sequence, summaries only where they are trained", () => {
    const sequence = { turns: [turn({}), turn({})] };
    const summary = (trained: boolean) => ({ turns: [turnOf({ sampled: sampledOf(9) })], summary: { trained } });
    const metricsWith = (trained: boolean) => {
      const groups = [groupOf(0, [won, lost], { sequences: [sequence, summary(trained), sequence] })];
      return toRecord(mergeMetrics(environmentMetrics("train", groups), lengthMetrics(groups)));
    };
    const shared = { "train/turns": 4, "train/sequences": 3, "train/summary_length": 9 };
    expect(metricsWith(false)).toMatchObject({ ...shared, "train/response_length": 6, "response_length/max": 6 });
    expect(metricsWith(true)).toMatchObject({ ...shared, "train/response_length": 7, "response_length/max": 9 });
  });

  it("leave groups without a usable episode out of pass@G", () => {
    const metrics = environmentMetrics("val-env", [
      group(0, [won, lost]),
      group(1, [broken, broken]),
      group(2, [lost, lost]),
    ]);
    expect(toRecord(metrics)["val-env/Maze/pass@2"]).toBe(1 / 2);
  });

  it("have the mean over episodes of what the environment told", () => {
    const metrics = environmentMetrics("val-env", [
      group(
        0,
        [lost],
        [
          { final_score: 4, moved: 1 },
          { final_score: 12, moved: 0 },
        ],
      ),
      group(1, [lost], [{ final_score: 20, moved: 1 }]),
    ]);
    expect(toRecord(metrics)).toMatchObject({ "val-env/Maze/final_score": 16, "val-env/Maze/moved": 3 / 4 });
  });

  it("have RAGEN's names of what is summed over an episode, and of its tiles", () => {
    const metrics = environmentMetrics("train", [
      group(
        0,
        [lost],
        [
          { raw_reward: 4, final_max_tile: 8, total_searches: 2 },
          { raw_reward: 16, final_max_tile: 32 },
        ],
      ),
      group(1, [lost], [{ raw_reward: 0, final_max_tile: 4, total_searches: 0 }]),
    ]);
    const record = toRecord(metrics);
    expect(record).toMatchObject({
      "train/Maze/episodic_return": 10,
      "train/Maze/raw_reward": 5,
      "train/Maze/max_tile": 18,
      "train/rollout/max_tile": 32,
      "train/Maze/traj_sum/searches": 1,
      "train/Maze/num_actions": 1.5,
    });
    expect(record).not.toHaveProperty(["train/Maze/final_max_tile"]);
    expect(record).not.toHaveProperty(["train/Maze/total_searches"]);
  });

  it("have the mean of each number over the episodes in which it is not 0, where there are any", () => {
    const record = toRecord(
      environmentMetrics("train", [
        group(0, [lost], [{ moved: 1, total_searches: 3, fell: 0 }]),
        group(1, [lost], [{ moved: 0, total_searches: 0, fell: 0 }]),
      ]),
    );
    expect(record).toMatchObject({
      "train/Maze/moved": 1 / 2,
      "train/Maze/non-zero/moved": 1,
      "train/Maze/non-zero/traj_sum/searches": 3,
      "train/Maze/non-zero/num_actions": 1,
    });
    expect(record["train/Maze/fell"]).toBe(0);
    expect(record).not.toHaveProperty(["train/Maze/non-zero/fell"]);
  });

  it("have the raw return of totals, and none where the environment reports no raw rewards", () => {
    const shop = environmentMetrics("train", [group(0, [won], [{ total_raw_reward: 0 }, { total_raw_reward: 0.5 }])]);
    expect(toRecord(shop)).toMatchObject({
      "train/Maze/episodic_return": 0.5,
      "train/Maze/traj_sum/raw_reward": 0.5,
    });
    const maze = toRecord(environmentMetrics("train", [group(0, [won], [{ moved: 1 }])]));
    expect(Object.keys(maze).filter((name) => /episodic_return|max_tile/.test(name))).toEqual([]);
  });

  it("have the share of turns without a legal action", () => {
    const silent = turnOf({ actions: [], info: {} });
    const metrics = environmentMetrics("train", [
      groupOf(0, [lost], { tag: "Maze", sequences: [{ turns: [turn({}), silent, silent, silent] }] }),
    ]);
    expect(toRecord(metrics)["train/Maze/manager_invalid_action"]).toBe(3 / 4);
  });

  it("have the share of each ending over all episodes, those of unusable groups included", () => {
    const cut = (reason: TruncationReason, success = false): Outcome => ({ _tag: "Truncated", reason, success });
    const crashed: Outcome = { _tag: "Failed", reason: "step_crashed", message: "" };
    const usable = group(0, [won, cut("max_turn", true), lost, cut("environment"), cut("context")]);
    const metrics = environmentMetrics("val-env", [usable], [group(1, [broken, crashed, crashed])]);
    expect(endingsOf(metrics)).toEqual({
      "val-env/ended/succeeded": 2 / 8,
      "val-env/ended/environment": 2 / 8,
      "val-env/ended/max_turn": 0,
      "val-env/ended/max_actions": 0,
      "val-env/ended/context": 1 / 8,
      "val-env/ended/failed": 3 / 8,
      "val-env/ended/failed/step_timeout": 1 / 8,
      "val-env/ended/failed/step_crashed": 2 / 8,
    });
  });

  it("have no statistic of episodes where none could be used, only how many failed and why", () => {
    const dead = [group(0, [broken, broken])];
    const metrics = environmentMetrics("train", [], dead);
    expect(toRecord(metrics)).toEqual({ "train/episodes/failed": 2, ...endingsOf(metrics) });
    expect(endingsOf(metrics)).toMatchObject({ "train/ended/failed": 1, "train/ended/failed/step_timeout": 1 });
    expect(endingsOf(environmentMetrics("train", []))).toEqual({});
    expect(lengthMetrics([]).size).toBe(0);
    expect(stalenessMetrics([], 3).size).toBe(0);
    expect(driftMetrics([], [group(0, [won, lost])]).size).toBe(0);
  });
});
