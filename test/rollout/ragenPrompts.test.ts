/** RAGEN's prompts of the shipped environments: the form of their rewards, and whether their actions are listed. */
import { describe, expect, it } from "vitest";
import type { View } from "../../src/env/contract/Environments.ts";
import { templates } from "../../src/rollout/Rollout.ts";
import { fromPreset, type Task } from "../../src/rollout/Task.ts";
import { preset, presets } from "../env/contract/presets.ts";
import { wrapped } from "../env/wrappers/wrapped.ts";

const template = templates.ragen({ think: true, separator: "||" });
const view: View = { state: null, observation: "-", compact: "-", actions: ["A", "B"], contentKey: "" };
const moment = { view, turn: 2, actionsLeft: 1 };

const taskOf = (tag: string, ...wrappers: Parameters<typeof wrapped>[1][]): Task =>
  fromPreset(tag, presets[tag]!, wrappers.length === 0 ? preset(tag) : wrapped(preset(tag), ...wrappers));
const rewardLine = (task: Task, reward: number): string =>
  template.next(task, moment, { reward, executed: 2, invalid: false }).split("\n")[1]!;

describe("the reward of a turn", () => {
  it.each(["FrozenLake", "CoordFrozenLake"])("of %s is an integer", (tag) => {
    expect([0, 1].map((reward) => rewardLine(taskOf(tag), reward))).toEqual(["0", "1"]);
  });

  it.each(["CoordSokoban", "Bandit", "rubikscube", "game_2048", "SimpleSudoku"])("of %s is a float", (tag) => {
    expect([0, 1].map((reward) => rewardLine(taskOf(tag), reward))).toEqual(["0.0", "1.0"]);
  });

  it("is a float where a wrapper shapes it, and stays an integer under a time limit", () => {
    expect(rewardLine(taskOf("FrozenLake", { type: "reward_shaping", scale: 2 }), 2)).toBe("2.0");
    expect(rewardLine(taskOf("FrozenLake", { type: "time_limit", max_steps: 3 }), 1)).toBe("1");
  });
});

describe("the list of actions", () => {
  it("is in the system message where the environment's actions are always the same", () => {
    expect(template.opening(taskOf("FrozenLake"), moment).system).toContain("Your available actions are:\nA, B\n");
  });

  it.each(["Bandit", "BanditTest"])("is not in that of %s, whose state names the arms", (tag) => {
    expect(template.opening(taskOf(tag), moment).system).not.toContain("available actions");
  });
});
