/** RAGEN's SimpleMemory: the last turns with state, reply and reward, then the current state. */
import { pythonReward } from "../pythonNumber.ts";
import type { PastTurn } from "../Template.ts";
import type { Memory } from "./Memory.ts";

export const warning = "No valid action provided previously. Environment state remains the same. Please try again.\n";

/** A turn as text, and the line that ends it. */
export const pastTurnText = (
  { executed, before: { turn, view }, reply, reward }: PastTurn,
  wholeRewards: boolean,
): string =>
  `Turn ${turn} State:\n${view.observation}\n` +
  `Turn ${turn} Action: ${reply}\n` +
  `Turn ${turn} Reward: ${pythonReward(reward, executed, wholeRewards)}\n---\n`;

/** The heading of the turns that are shown; with a summary of those before them it is that of RAGEN's pull request 160. */
const heading = (turn: number, shown: number, summary: string): string =>
  summary === ""
    ? `Summary: ${turn - 1} step(s) completed so far. Showing the last ${shown} turn(s) with state/action/reward details. Recent turns:\n---\n`
    : `Recent ${shown} turn(s) (full detail):\n---\n`;

export const simple: Memory = (
  { actionsLeft, turn, view },
  { shown, summary, previousInvalid },
  { form, lengthSentence, wholeRewards },
) => {
  const summaryText = summary === "" ? "" : `${summary}\n\n`;
  const turns = shown.map((past) => pastTurnText(past, wholeRewards)).join("");
  const recent = turns === "" ? "" : heading(turn, shown.length, summary) + turns;
  const before = summaryText + recent;
  return (
    `${before}${before === "" ? "" : "\nCurrent Turn "}(Turn ${turn}):\n` +
    `State:\n${view.observation}\n${previousInvalid ? warning : ""}You have ${actionsLeft} actions left. ` +
    `Always output: ${form} with no extra text. Strictly follow this format. ${lengthSentence}\n`
  );
};
