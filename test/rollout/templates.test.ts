import { describe, expect, it } from "vitest";
import type { View } from "../../src/env/contract/Environments.ts";
import { templates } from "../../src/rollout/Rollout.ts";
import { reach } from "./fakes.ts";

const view: View = { state: null, observation: "P_O", compact: "P_O", actions: ["Left", "Right"], contentKey: "" };
const options = { think: true, separator: "||" };
const formRequest =
  "Always output: <think> [Your thoughts] </think> <answer> [your answer] </answer> with no extra text. Strictly follow this format. Max response length: 100 words (tokens).\n";

describe("ragen template", () => {
  const ragen = templates.ragen(options);

  it("opens with the instruction, the legal actions and the budget", () => {
    const { system } = ragen.opening(reach, { view, turn: 1, actionsLeft: 4 });
    expect(system).toBe(
      `You're a helpful assistant. Walk to the end.\nYour available actions are:\nLeft, Right\nYou can make up to 4 actions, separated by the action separator " || "\n`,
    );
  });

  it("puts the environment's legend after the instruction", () => {
    const { system } = ragen.opening({ ...reach, legend: "P: player" }, { view, turn: 1, actionsLeft: 4 });
    expect(system).toContain("Walk to the end.\nP: player\nYour available actions are:");
  });

  it("says nothing of actions where text is free", () => {
    const { system } = ragen.opening(reach, { view: { ...view, actions: null }, turn: 1, actionsLeft: 1 });
    expect(system).toBe("You're a helpful assistant. Walk to the end.");
  });

  it("says nothing of actions that the state names", () => {
    const { system } = ragen.opening({ ...reach, actionsInState: true }, { view, turn: 1, actionsLeft: 1 });
    expect(system).toBe("You're a helpful assistant. Walk to the end.");
  });

  it("shows the state, the actions left and the form", () => {
    const { user } = ragen.opening(reach, { view, turn: 1, actionsLeft: 4 });
    expect(user).toBe(`\nTurn 1:\nState:\nP_O\nYou have 4 actions left. ${formRequest}`);
  });

  it("leads the next turn with the reward as Python prints it", () => {
    const next = ragen.next(reach, { view, turn: 2, actionsLeft: 2 }, { reward: -0.2, executed: 2, invalid: false });
    expect(next).toBe(`Reward:\n-0.2\n\nTurn 2:\nState:\nP_O\nYou have 2 actions left. ${formRequest}`);
  });

  it("shows whole rewards without a decimal point", () => {
    const task = { ...reach, wholeRewards: true };
    const next = ragen.next(task, { view, turn: 2, actionsLeft: 2 }, { reward: 0, executed: 2, invalid: false });
    expect(next.startsWith("Reward:\n0\n\nTurn 2:")).toBe(true);
  });

  it("warns after a turn without a legal action, whose reward is an integer zero", () => {
    const next = ragen.next(reach, { view, turn: 3, actionsLeft: 4 }, { reward: 0, executed: 0, invalid: true });
    expect(next).toBe(
      `Reward:\n0\n\nTurn 3:\nState:\nP_O\nNo valid action provided previously. Environment state remains the same. Please try again.\nYou have 4 actions left. ${formRequest}`,
    );
  });

  it("asks for the answer alone, and starts inside it, without thinking", () => {
    const short = templates.ragen({ ...options, think: false });
    expect(short.prefix).toBe("<answer>");
    expect(short.opening(reach, { view, turn: 1, actionsLeft: 4 }).user).toContain(
      "Always output: <answer> [your answer] </answer> with",
    );
    expect(ragen.prefix).toBe("<think>");
  });
});

describe("compact template", () => {
  const compact = templates.compact(options);

  it("opens with the kind, the state and the actions left, and no other word", () => {
    expect(compact.opening(reach, { view, turn: 1, actionsLeft: 4 })).toEqual({ system: "corridor", user: "P_O\n4" });
  });

  it("shows the instruction of a user's own environment once, behind its kind", () => {
    const custom = { ...reach, isCustom: true };
    const opening = compact.opening(custom, { view, turn: 1, actionsLeft: 4 });
    expect(opening).toEqual({ system: "corridor\nWalk to the end.", user: "P_O\n4" });
    expect(compact.opening({ ...custom, instruction: "\n" }, { view, turn: 1, actionsLeft: 4 }).system).toBe(
      "corridor",
    );
    const previous = { reward: -0.1, executed: 1, invalid: false };
    expect(compact.next(custom, { view, turn: 2, actionsLeft: 3 }, previous)).toBe("P_O\n3");
  });

  it("goes on with the new state and what is left", () => {
    const previous = { reward: -0.1, executed: 1, invalid: false };
    expect(compact.next(reach, { view, turn: 2, actionsLeft: 3 }, previous)).toBe("P_O\n3");
  });
});
