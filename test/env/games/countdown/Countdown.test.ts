/** Rewards and texts of Countdown, and how an answer travels from a reply to the environment. */
import { describe, expect, it } from "vitest";
import { Countdown, type CountdownState } from "../../../../src/env/games/countdown/Countdown.ts";
import { CountdownConfig } from "../../../../src/env/games/countdown/CountdownConfig.ts";
import { mapActions } from "../../../../src/rollout/actions.ts";
import { parse } from "../../../../src/rollout/parse.ts";
import { configsOf } from "../../../build/config.ts";
import { noiseOf } from "../../contract/players.ts";

const configWith = configsOf(CountdownConfig);
const standard = configWith();
const start: CountdownState = { target: 4, numbers: [3, 5, 2], answer: null };
const answered = (answer: string, config = standard, state = start) =>
  Countdown.step(config, state, answer, noiseOf(0, 0, 0));

describe("an answer", () => {
  it.each([
    ["2 + 5 - 3", 1],
    ["5-3+2", 1],
    ["-3 + (5 + 2)", 1],
    ["2 + 5 + 3", 0.1],
    ["3 5 2", 0.1],
    ["2 ** 5 - 3", 0.1],
    ["2 × 5 × 3", 0.1],
    ["nums: 3, 5 and 2", 0.1],
    ["5 / (3 - 3) + 2", 0],
    ["3 - 3", 0],
    ["4", 0],
    ["5 - 3 + 2 + 0", 0],
    ["5.0 - 3 + 2", 0],
    ["", 0],
    ["I do not know", 0],
  ])("%j earns %f", (answer, reward) => {
    const transition = answered(answer);
    expect(transition.reward).toBe(reward);
    expect([transition.terminated, transition.truncated]).toEqual([true, false]);
    expect(transition.info.success).toBe(reward === 1);
    expect(transition.info.action_is_effective).toBe(reward > 0);
    expect(transition.info.uses_numbers).toBe(reward > 0);
  });

  it("that is too long to be read has the numbers at best", () => {
    expect(answered(`2 + 5 - ${"(".repeat(200)}3${")".repeat(200)}`)).toMatchObject({
      reward: 0.1,
      info: { action_is_valid: false },
    });
  });

  it("must use a number as often as it is given", () => {
    const state: CountdownState = { target: 6, numbers: [2, 2, 2], answer: null };
    expect(answered("2 + 2 + 2", standard, state).reward).toBe(1);
    expect(answered("2 * 2 + 2 * 2 - 2", standard, state).reward).toBe(0);
    expect(answered("2 * 2 + 2", standard, state).reward).toBe(1);
  });

  it("is exact", () => {
    const state: CountdownState = { target: 1, numbers: [49, 1, 49], answer: null };
    expect(answered("49 * (1 / 49)", standard, state).reward).toBe(1);
    const close: CountdownState = { target: 0, numbers: [1, 500, 500], answer: null };
    expect(answered("1 / (500 * 500)", standard, close).reward).toBe(0.1);
  });

  it("is valid where it can be read and has a value", () => {
    for (const [answer, valid] of [
      ["2 + 5 - 3", true],
      ["7 + 1", true],
      ["5 / (3 - 3)", false],
      ["2 + five - 3", false],
    ] as const) {
      expect(answered(answer).info.action_is_valid).toBe(valid);
    }
  });

  it("earns the configured rewards", () => {
    const config = configWith({ score: 10, format_score: -1 });
    expect(answered("2 + 5 - 3", config).reward).toBe(10);
    expect(answered("2 + 5 + 3", config).reward).toBe(-1);
  });
});

describe("an equation", () => {
  const refusing = configWith({ accept_equation: false });

  it.each([
    ["2 + 5 - 3 = 4", 1, 0],
    ["2 + 5 - 3=4 ", 1, 0],
    ["2 + 5 + 3 = 4", 0.1, 0],
    ["2 + 5 - 3 = 5", 0, 0],
    ["2 + 5 = 7 - 3 = 4", 0, 0],
    ["2 + 5 - 3 == 4", 0, 0],
    ["4 = 2 + 5 - 3", 0, 0],
    ["2 + 5 - 3 =", 0.1, 0.1],
  ])("%j earns %f, in RAGEN %f", (answer, ours, theirs) => {
    expect(answered(answer).reward).toBe(ours);
    expect(answered(answer, refusing).reward).toBe(theirs);
  });

  it("of a target among the numbers is not mistaken for its expression", () => {
    const state: CountdownState = { target: 5, numbers: [3, 5, 3], answer: null };
    expect(answered("3 - 3 = 5", standard, state).reward).toBe(0);
    expect(answered("3 - 3 = 5", refusing, state).reward).toBe(0.1);
  });
});

describe("the texts", () => {
  it("show target and numbers, then the reward", () => {
    expect(Countdown.render(standard, start)).toBe("Target: 4, nums: [3, 5, 2]");
    expect(Countdown.compact(standard, start)).toBe("target 4 from 3 5 2");
    const { state } = answered("2 + 5 + 3");
    expect(Countdown.render(standard, state)).toBe("Your answer gets 0.1 points.");
    expect(Countdown.compact(standard, state)).toBe("reward 0.1");
  });

  it("think an answer step by step", () => {
    expect(Countdown.thought!(standard, start, ["(5 - 3) * 2"])).toBe("5 - 3 = 2 then 2 * 2 = 4 so (5 - 3) * 2");
    expect(Countdown.thought!(standard, start, ["5 / 3 * 2"])).toBe("5 / 3 = 5/3 then 5/3 * 2 = 10/3 so 5 / 3 * 2");
    expect(Countdown.thought!(standard, start, ["five"])).toBe("so five");
  });

  it("know an instance by its numbers in any order", () => {
    const key = Countdown.contentKey(standard, start);
    expect(Countdown.contentKey(standard, { ...start, numbers: [2, 3, 5] })).toBe(key);
    expect(Countdown.contentKey(standard, { ...start, target: 6 })).not.toBe(key);
    expect(Countdown.contentKey(standard, { ...start, numbers: [2, 3, 3] })).not.toBe(key);
    expect(Countdown.contentKey(standard, answered("2").state)).toBe(key);
  });
});

describe("the solver", () => {
  it("has nothing left to do after a right answer, and no way after a wrong one", () => {
    expect(Countdown.solve!(standard, start)).toEqual(["5 + 2 - 3"]);
    expect(Countdown.solve!(standard, answered("2 + 5 - 3").state)).toEqual([]);
    expect(Countdown.solve!(standard, answered("2 + 5 + 3").state)).toBeNull();
  });

  it("keeps to the configured operators", () => {
    const state: CountdownState = { target: 30, numbers: [3, 5, 2], answer: null };
    expect(Countdown.solve!(standard, state)).toBeNull();
    expect(Countdown.solve!(configWith({ operations: "+-*/" }), state)).toEqual(["3 * 5 * 2"]);
  });
});

describe("a reply", () => {
  const grammar = { think: true, separator: "||", maxActions: 1 };

  it.each(["(5 - 3) * 2", "5-3+2", "2 + 5 - 3 = 4", "((5) - 3) * 2"])("carries %j unchanged", (answer) => {
    const { actions, parsed } = parse(`<think>5 - 3 = 2 so</think><answer> ${answer} </answer>`, grammar);
    expect([parsed, actions]).toEqual([true, [answer]]);
    expect(mapActions(actions, Countdown.actions(standard, start), 1)).toEqual({
      actions: [answer],
      executable: [answer],
      penalised: false,
      invalid: false,
    });
    expect(answered(actions[0]!).reward).toBe(1);
  });

  it("with two answers gives the first", () => {
    const { actions } = parse("<think></think><answer>2 + 5 - 3 || 3 + 5</answer>", grammar);
    expect(actions).toEqual(["2 + 5 - 3"]);
  });
});
