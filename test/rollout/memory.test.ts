/** The texts of RAGEN's memories, written out by hand from its documented form. */
import { describe, expect, it } from "vitest";
import type { View } from "../../src/env/contract/Environments.ts";
import { templates } from "../../src/rollout/Rollout.ts";
import type { DetailedRecap, PastTurn, TurnState } from "../../src/rollout/Template.ts";
import { reach } from "./fakes.ts";

const ragen = templates.ragen({ think: true, separator: "||" });
const form = "<think> [Your thoughts] </think> <answer> [your answer] </answer>";
const formRequest = `Always output: ${form} with no extra text. Strictly follow this format. Max response length: 100 words (tokens).\n`;
const warning = "No valid action provided previously. Environment state remains the same. Please try again.\n";

const moment = (
  observation: string,
  turn: number,
  actionsLeft: number,
  actions: View["actions"] = ["Up", "Down"],
): TurnState => ({
  view: { state: null, observation, compact: `s${turn}`, actions, contentKey: "" },
  turn,
  actionsLeft,
});

const past = (observation: string, turn: number, over: Partial<PastTurn> = {}): PastTurn => ({
  before: moment(observation, turn, 10),
  reply: `<think>t${turn}</think><answer>Up</answer>`,
  actions: ["Up"],
  effective: 1,
  reward: -0.1,
  executed: 1,
  invalid: false,
  ...over,
});

const retold = (over: Partial<DetailedRecap> = {}): DetailedRecap => ({
  first: "S1",
  shown: [],
  summary: "",
  previousInvalid: false,
  ...over,
});

const unread: Partial<PastTurn> = { reply: "what", actions: [], effective: 0, reward: 0, executed: 0, invalid: true };

describe("the simple memory", () => {
  it("shows the turn alone where there is no history", () => {
    expect(ragen.retelling(reach, moment("S1", 1, 10), retold())).toBe(
      `(Turn 1):\nState:\nS1\nYou have 10 actions left. ${formRequest}`,
    );
    expect(ragen.retelling(reach, moment("S3", 3, 8), retold())).toBe(
      `(Turn 3):\nState:\nS3\nYou have 8 actions left. ${formRequest}`,
    );
  });

  it("retells the last turns with state, reply and reward", () => {
    const shown = [past("S2", 2), past("S3", 3, unread)];
    expect(ragen.retelling(reach, moment("S4", 4, 8), retold({ shown, previousInvalid: true }))).toBe(
      "Summary: 3 step(s) completed so far. Showing the last 2 turn(s) with state/action/reward details. Recent turns:\n---\n" +
        "Turn 2 State:\nS2\nTurn 2 Action: <think>t2</think><answer>Up</answer>\nTurn 2 Reward: -0.1\n---\n" +
        "Turn 3 State:\nS3\nTurn 3 Action: what\nTurn 3 Reward: 0\n---\n" +
        `\nCurrent Turn (Turn 4):\nState:\nS4\n${warning}You have 8 actions left. ${formRequest}`,
    );
  });

  it("puts a summary before the turns that are shown", () => {
    expect(ragen.retelling(reach, moment("S3", 3, 8), retold({ shown: [past("S2", 2)], summary: "M" }))).toBe(
      "M\n\nRecent 1 turn(s) (full detail):\n---\n" +
        "Turn 2 State:\nS2\nTurn 2 Action: <think>t2</think><answer>Up</answer>\nTurn 2 Reward: -0.1\n---\n" +
        `\nCurrent Turn (Turn 3):\nState:\nS3\nYou have 8 actions left. ${formRequest}`,
    );
  });
});

describe("the memory of ALFWorld", () => {
  const task = { ...reach, memory: "alfworld" } as const;
  const first =
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in a room. There is a desk 1.\n\nYour task is to: put a pen in desk.\n\nAdmissible actions: [go to desk 1, look]";
  const now = moment("On the desk 1, you see a pen 2.\n\nAdmissible actions: [take pen 2, look]", 3, 48, null);

  it("tells the task, the steps taken, pairs of observation and action, and the admissible actions", () => {
    const shown = [
      past(first, 1, { reply: "<think>a</think><answer>go to desk 1</answer>" }),
      past("You arrive.\n\nAdmissible actions: [look]", 2, { reply: " look " }),
    ];
    expect(ragen.retelling(task, now, retold({ first, shown, previousInvalid: true }))).toBe(
      [
        "Your task is to: put a pen in desk.",
        "Prior to this step, you have already taken 2 step(s).",
        "Below are the most recent 2 observations and the corresponding actions you took:",
        "[Observation 1: 'You are in a room. There is a desk 1.\nYour task is to: put a pen in desk.', Action 1: 'go to desk 1']",
        "[Observation 2: 'You arrive.', Action 2: 'look']",
        "You are now at step 3 and your current observation is: On the desk 1, you see a pen 2.",
        "Your admissible actions of the current situation are: [take pen 2, look]",
        "No valid action provided previously. Environment state remains the same.",
        `Now it's your turn to take an action. You have 48 actions left. Always output: ${form} with no extra text. Max response length: 100 words (tokens).`,
      ].join("\n"),
    );
  });

  it("cuts a long observation of an earlier turn at 200 characters", () => {
    const text = ragen.retelling(task, now, retold({ shown: [past("é".repeat(201), 2)] }));
    expect(text).toContain(`[Observation 2: '${"é".repeat(197)}...', Action 2: 'Up']`);
    const whole = ragen.retelling(task, now, retold({ shown: [past("é".repeat(200), 2)] }));
    expect(whole).toContain(`[Observation 2: '${"é".repeat(200)}', Action 2: 'Up']`);
  });

  it("says nothing of what there is not", () => {
    expect(ragen.retelling(task, moment("A room.", 1, 50, null), retold({ first: "A room." }))).toBe(
      `You are now at step 1 and your current observation is: A room.\nNow it's your turn to take an action. You have 50 actions left. Always output: ${form} with no extra text. Max response length: 100 words (tokens).`,
    );
  });
});

describe("a chat that begins at a later turn", () => {
  it("shows the turn without the reward before it", () => {
    expect(ragen.reopening(reach, moment("S3", 3, 8), { summary: "", previousInvalid: true })).toBe(
      `\nTurn 3:\nState:\nS3\n${warning}You have 8 actions left. ${formRequest}`,
    );
  });

  it("begins with the summary of the turns before", () => {
    expect(ragen.reopening(reach, moment("S3", 3, 8), { summary: "M", previousInvalid: false })).toBe(
      `M\n\n\nTurn 3:\nState:\nS3\nYou have 8 actions left. ${formRequest}`,
    );
  });
});

describe("a summary of facts", () => {
  it("counts turns, actions, effective moves and rewards, and names the last coordinates", () => {
    const state =
      "Coordinates: \nBoard size: 6 rows x 6 cols\nTargets: (2, 3)\nBoxes: (3, 3)\nPlayer: (4, 3)\nGrid Map: \n###";
    const turns = [past("S1", 1, { actions: ["Up", "Down"], effective: 1, reward: -0.2 }), past(state, 2, unread)];
    expect(ragen.facts(turns)).toBe(
      [
        "[Memory: 2 earlier step(s) summarized, not shown in full]",
        "Actions tried: Up, Down",
        "Effective moves: 1/2",
        "Cumulative reward from these steps: -0.20",
        "State at end of summary: Targets: (2, 3) | Boxes: (3, 3) | Player: (4, 3)",
        "Invalid action format: 1 time(s). Valid actions are: Up, Down (separated by ' || ').",
      ].join("\n"),
    );
  });

  it("says that nothing was tried", () => {
    const turns = [past("S1", 1, { ...unread, invalid: false })];
    expect(ragen.facts(turns)).toContain("Actions tried: none\nEffective moves: 0/0\n");
  });
});

describe("the request for a summary", () => {
  it("shows the turns to sum up and the summary before them", () => {
    const text = ragen.summarising(reach, [past("S2", 2)], "before", 60);
    expect(text.startsWith("Summary of the turns so far:\nbefore\n---\nTurn 2 State:\nS2\n")).toBe(true);
    expect(text.endsWith("Max response length: 60 words (tokens).\n")).toBe(true);
    expect(ragen.summarising(reach, [past("S1", 1)], "", 60).startsWith("Turn 1 State:")).toBe(true);
  });
});
