import { describe, expect, it } from "vitest";
import type { Outcome, Turn } from "../../src/domain/Episode.ts";
import type { Group } from "../../src/domain/Group.ts";
import type { Info } from "../../src/domain/Info.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { drift, environmentMetrics, lengthMetrics, stalenessMetrics } from "../../src/rollout/statistics.ts";
import { groupOf, lost, sampledOf, turnOf, won } from "../domain/episodes.ts";

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

describe("metrics of a window", () => {
  it("leave failed episodes out of success and count them", () => {
    const metrics = environmentMetrics("train", [group(0, [won, lost, broken])]);
    expect(toRecord(metrics)).toMatchObject({
      "train/Maze/success": 1 / 2,
      "train/success": 1 / 2,
      "train/episodes/failed": 1,
    });
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

  it("have no statistic of episodes where none could be used, only the count of failures", () => {
    const dead = [group(0, [broken, broken])];
    expect(toRecord(environmentMetrics("train", [], dead))).toEqual({ "train/episodes/failed": 2 });
    expect(lengthMetrics([]).size).toBe(0);
    expect(stalenessMetrics([], 3).size).toBe(0);
    expect(drift([], [group(0, [won, lost])]).size).toBe(0);
  });
});
