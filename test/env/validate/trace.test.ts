/** Fixed actions on one instance, line by line. */
import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { IllegalAction } from "../../../src/env/contract/IllegalAction.ts";
import { splitActions, trace } from "../../../src/env/validate/trace.ts";
import { remote } from "../asynchronous/remote.ts";
import { instanceOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";

const sokoban = preset("CoordSokoban");
const plan = sokoban.solve!(sokoban.reset(instanceOf(10_000), "train"))!;

describe("trace", () => {
  it("begins with the reset", () => {
    expect(Effect.runSync(trace(sokoban, 10_000, []))).toEqual([
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
    const lines = Effect.runSync(trace(sokoban, 10_000, [...plan, "Up", "Up"]));
    expect(lines.map(({ t }) => t)).toEqual([...plan.keys(), plan.length]);
    expect(lines.at(-1)).toMatchObject({ reward: 10.9, terminated: true, truncated: false, success: true });
    expect(lines.at(-1)!.info).toEqual({ success: true, action_is_effective: true, action_is_valid: true });
  });

  it("is the same for the same seed, also with noise", () => {
    const lake = preset("FrozenLake");
    const actions = ["Left", "Up", "Right", "Down", "Left"];
    expect(Effect.runSync(trace(lake, 7, actions))).toEqual(Effect.runSync(trace(lake, 7, actions)));
  });

  it("takes action names in any case", () => {
    expect(Effect.runSync(trace(sokoban, 3, ["up", "LEFT"]))).toEqual(
      Effect.runSync(trace(sokoban, 3, ["Up", "Left"])),
    );
  });

  it.each([
    ["before the end", ["Up", "Jump"]],
    ["after the end", [...plan, "Jump"]],
  ])("refuses an unknown action %s, listing the valid ones", (_, actions) => {
    const error = Effect.runSync(Effect.flip(trace(sokoban, 10_000, actions)));
    expect(error).toBeInstanceOf(IllegalAction);
    expect(error.message).toBe('sokoban: "Jump" is not an action; valid actions are Up, Down, Left, Right');
  });

  it("reads actions separated by ||", () => {
    expect(splitActions(" Up ||Left|| || Right ")).toEqual(["Up", "Left", "Right"]);
    expect(splitActions("")).toEqual([]);
  });

  it("plays an environment that waits as its pure twin, and gives back what it held", async () => {
    const { environment, side } = remote(sokoban);
    const lines = await Effect.runPromise(trace(environment, 10_000, [...plan, "Up"]));
    expect(lines).toEqual(Effect.runSync(trace(sokoban, 10_000, [...plan, "Up"])));
    expect(side).toMatchObject({ opened: 1, twice: 0 });
    expect(side.open.size).toBe(0);
  });

  it("fails with what the other side says, and gives back what it held", async () => {
    let steps = 0;
    const behave = async () => {
      if (++steps === 3) throw new Error("nobody is there");
    };
    const { environment, side } = remote(sokoban, { behave });
    const error = await Effect.runPromise(Effect.flip(trace(environment, 10_000, plan)));
    expect(error).toMatchObject({ _tag: "EnvironmentError", tag: "sokoban", message: "nobody is there" });
    expect(side.opened).toBe(1);
    expect(side.open.size).toBe(0);
  });
});
