/** Fixed actions on one instance, line by line. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { IllegalAction } from "../../src/envs/IllegalAction.ts";
import { splitActions, trace } from "../../src/envs/trace.ts";
import { instanceOf } from "./players.ts";
import { preset } from "./presets.ts";

const sokoban = preset("CoordSokoban");
const plan = sokoban.solve!(sokoban.reset(instanceOf(10_000), "train"))!;

describe("trace", () => {
  it("begins with the reset", () => {
    expect(Result.getOrThrow(trace(sokoban, 10_000, []))).toEqual([
      {
        t: 0,
        observation: sokoban.render(sokoban.reset(instanceOf(10_000), "train")),
        reward: 0,
        terminated: false,
        truncated: false,
        success: false,
        info: {},
      },
    ]);
  });

  it("plays a plan to its success and nothing after it", () => {
    const lines = Result.getOrThrow(trace(sokoban, 10_000, [...plan, "Up", "Up"]));
    expect(lines.map(({ t }) => t)).toEqual([...plan.keys(), plan.length]);
    expect(lines.at(-1)).toMatchObject({ reward: 10.9, terminated: true, truncated: false, success: true });
    expect(lines.at(-1)!.info).toEqual({ success: true, action_is_effective: true, action_is_valid: true });
  });

  it("is the same for the same seed, also with noise", () => {
    const lake = preset("FrozenLake");
    const actions = ["Left", "Up", "Right", "Down", "Left"];
    expect(trace(lake, 7, actions)).toEqual(trace(lake, 7, actions));
  });

  it("takes action names in any case", () => {
    expect(trace(sokoban, 3, ["up", "LEFT"])).toEqual(trace(sokoban, 3, ["Up", "Left"]));
  });

  it.each([
    ["before the end", ["Up", "Jump"]],
    ["after the end", [...plan, "Jump"]],
  ])("refuses an unknown action %s, listing the valid ones", (_, actions) => {
    const result = trace(sokoban, 10_000, actions);
    expect(Result.isFailure(result) && result.failure).toBeInstanceOf(IllegalAction);
    expect(Result.isFailure(result) && result.failure.message).toBe(
      'sokoban: "Jump" is not an action; valid actions are Up, Down, Left, Right',
    );
  });

  it("reads actions separated by ||", () => {
    expect(splitActions(" Up ||Left|| || Right ")).toEqual(["Up", "Left", "Right"]);
    expect(splitActions("")).toEqual([]);
  });
});
