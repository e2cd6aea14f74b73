/** Each wrapper changes walks whose outcome is known. */
import { describe, expect, it } from "vitest";
import { IllegalAction } from "../../../src/env/contract/IllegalAction.ts";
import { instanceOf, noiseOf, play } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";
import { wrapped } from "./wrapped.ts";

const lake = preset("FrozenLake", { is_slippery: false });
const noise = (at: number) => noiseOf(0, 0, at);
/** An instance whose shortest walk has `steps` steps, and that walk. */
const walk = (steps: number) => {
  for (let seed = 0; ; seed++) {
    const plan = lake.solve!(lake.reset(instanceOf(seed), "train"))!;
    if (plan.length === steps) return { seed, plan };
  }
};

describe("a time limit", () => {
  const { plan, seed } = walk(4);

  it("truncates after so many actions, and nothing happens after", () => {
    const environment = wrapped(lake, { type: "time_limit", max_steps: 3 });
    const start = environment.reset(instanceOf(seed), "train");
    const { transitions } = play(environment, start, plan, noise);
    expect(transitions.map(({ terminated, truncated }) => [terminated, truncated])).toEqual([
      [false, false],
      [false, false],
      [false, true],
    ]);
    const last = transitions.at(-1)!.state;
    expect(environment.step(last, plan[3]!, noise(3))).toEqual({
      state: last,
      reward: 0,
      terminated: false,
      truncated: true,
      info: { success: false, action_is_effective: false, action_is_valid: true },
    });
    expect(() => environment.step(last, "Jump", noise(3))).toThrow(IllegalAction);
  });

  it("leaves an episode that ends with its last action terminated", () => {
    const environment = wrapped(lake, { type: "time_limit", max_steps: 4 });
    const { success, transitions } = play(environment, environment.reset(instanceOf(seed), "train"), plan, noise);
    expect(success).toBe(true);
    expect(transitions.at(-1)).toMatchObject({ reward: 1, terminated: true, truncated: false });
  });

  it("has a plan only where there is time for it", () => {
    const solved = (max_steps: number) => {
      const environment = wrapped(lake, { type: "time_limit", max_steps });
      return environment.solve!(environment.reset(instanceOf(seed), "train"));
    };
    expect([solved(3), solved(4)]).toEqual([null, plan]);
  });
});

describe("an action filter", () => {
  it("lists and takes only what it lets through, whatever the case", () => {
    const environment = wrapped(lake, { type: "action_filter", allow: ["up", "LEFT", "Down"], deny: ["down"] });
    const state = environment.reset(instanceOf(0), "train");
    expect(environment.actions(state)).toEqual(["Left", "Up"]);
    expect(() => environment.step(state, "Down", noise(0))).toThrow(IllegalAction);
    expect(environment.step(state, "Up", noise(0)).info.action_is_valid).toBe(true);
  });

  it("has no plan that needs what it refuses", () => {
    const { plan, seed } = walk(4);
    const planned = (deny: readonly string[]) => {
      const environment = wrapped(lake, { type: "action_filter", deny });
      return environment.solve!(environment.reset(instanceOf(seed), "train"));
    };
    expect(planned([plan[2]!])).toBeNull();
    expect(planned(["Jump"])).toEqual(plan);
  });

  it("refuses free text as an invalid action that changes nothing", () => {
    const environment = wrapped(preset("Countdown"), { type: "action_filter", deny: ["I give up"] });
    const state = environment.reset(instanceOf(0), "train");
    expect(environment.actions(state)).toBeNull();
    expect(environment.step(state, " i give UP ", noise(0))).toEqual({
      state,
      reward: 0,
      terminated: false,
      truncated: false,
      info: { success: false, action_is_effective: false, action_is_valid: false },
    });
    expect(environment.step(state, "1 + 1", noise(0)).state).not.toEqual(state);
  });
});

describe("reward shaping", () => {
  const { plan, seed } = walk(3);
  const earned = (keys: object) => {
    const environment = wrapped(lake, { type: "reward_shaping", ...keys });
    const { transitions } = play(environment, environment.reset(instanceOf(seed), "train"), plan, noise);
    const after = environment.step(transitions.at(-1)!.state, plan[0]!, noise(9));
    return [...transitions, after].map(({ reward }) => reward);
  };

  it("scales, offsets, clips and adds the bonus, in this order, and earns nothing after the end", () => {
    expect(earned({ scale: 8, offset: -0.25 })).toEqual([-0.25, -0.25, 7.75, 0]);
    expect(earned({ scale: 8, clip_high: 2 })).toEqual([0, 0, 2, 0]);
    expect(earned({ offset: -1, clip_low: -0.5 })).toEqual([-0.5, -0.5, 0, 0]);
    expect(earned({ scale: 8, clip_high: 2, success_bonus: 3 })).toEqual([0, 0, 5, 0]);
  });
});

describe("an observation rewrite", () => {
  const sokoban = preset("SimpleSokoban");
  const rewritten = (keys: object) => {
    const environment = wrapped(sokoban, { type: "observation_rewrite", ...keys });
    const state = environment.reset(instanceOf(3), "train");
    return { render: environment.render(state), compact: environment.compact(state), legend: environment.legend };
  };
  const plain = rewritten({});

  it("replaces every match in the observation and its short form, one replacement after the other", () => {
    const found = rewritten({
      replacements: [
        { pattern: "#", replacement: "W" },
        { pattern: "W", replacement: "wall " },
      ],
    });
    expect(found).toEqual({
      render: plain.render.replaceAll("#", "wall "),
      compact: plain.compact.replaceAll("#", "wall "),
      legend: plain.legend,
    });
    expect(found.render).not.toBe(plain.render);
  });

  it("rewrites only what it is told to, the legend too", () => {
    const found = rewritten({ replacements: [{ pattern: "#", replacement: "W" }], on: ["legend"] });
    expect(found).toEqual({ ...plain, legend: plain.legend.replaceAll("#", "W") });
    expect(found.legend).not.toBe(plain.legend);
  });

  it("names groups, matches at lines, and ignores case where it is told to", () => {
    const replacements = [
      { pattern: "^(?<first>.)(?<rest>.*)$", replacement: "$<rest>$<first>" },
      { pattern: "p", replacement: "me", ignore_case: true },
    ];
    const lines = plain.render.split("\n").map((line) => line.slice(1) + line[0]);
    expect(rewritten({ replacements }).render).toBe(lines.join("\n").replaceAll(/p/gi, "me"));
  });
});
