/** A state is found in the messages that the templates write around it. */
import { describe, expect, it } from "vitest";
import { Sokoban } from "../../../../../src/env/games/sokoban/Sokoban.ts";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { compact } from "../../../../../src/rollout/compact.ts";
import { ragen } from "../../../../../src/rollout/ragen.ts";
import type { Task } from "../../../../../src/rollout/Task.ts";
import type { TurnState } from "../../../../../src/rollout/Template.ts";
import { statesOf } from "./states.ts";

const env_config = { num_boxes: 1, observation_format: "grid_coord" };
const scene = { env_type: "sokoban", env_config };
const [shown] = statesOf(Sokoban, env_config, { seeds: 1, actions: 0 });
const { compact: short, full } = shown!;
const task: Task = {
  tag: "SimpleSokoban",
  kind: "sokoban",
  instruction: "",
  isCustom: false,
  legend: "",
  maxActions: 10,
  maxTokens: 100,
  memory: "simple",
  wholeAnswer: false,
  wholeRewards: false,
  actionsInState: false,
};
const view: TurnState["view"] = { state: null, observation: full, compact: short, actions: null, contentKey: "" };
const moment: TurnState = { view, turn: 3, actionsLeft: 7 };

describe("the state in a message", () => {
  it.each([true, false])("of RAGEN's template, think %s", (think) => {
    const template = ragen({ think, separator: "||" });
    const expected = drawingOf(scene, full);
    expect(expected).not.toBeNull();
    const later = [true, false].map((invalid) => template.next(task, moment, { reward: -0.1, executed: 1, invalid }));
    for (const message of [template.opening(task, moment).user, ...later]) {
      expect(drawingOf(scene, message)).toEqual(expected);
    }
  });

  it("of the compact template", () => {
    const template = compact({ think: true, separator: "||" });
    expect(drawingOf(scene, template.opening(task, moment).user)).toEqual(drawingOf(scene, short));
  });

  it("is drawn for no other environment, and for no preset that is unknown", () => {
    expect(drawingOf({ env_type: "bandit", env_config: {} }, short)).toBeNull();
    expect(drawingOf(null, short)).toBeNull();
  });
});
