/**
 * RAGEN's prompt texts, so that runs compare: instruction, legend, legal actions and budget in the system message, then per turn the
 * state, the actions left and the form asked for. Differs from RAGEN in that the legend is the one of the preset's own configuration.
 */
import { alfworld } from "./memory/alfworld.ts";
import { facts } from "./memory/facts.ts";
import type { Memory, MemoryName } from "./memory/Memory.ts";
import { pastTurnText, simple, warning } from "./memory/simple.ts";
import { pythonReward } from "./pythonNumber.ts";
import type { Task } from "./Task.ts";
import { replyPrefix, type Template, type TemplateOptions, type TurnState } from "./Template.ts";

const answerForm = "<answer> [your answer] </answer>";
const thinkForm = `<think> [Your thoughts] </think> ${answerForm}`;

const memories: Readonly<Record<MemoryName, Memory>> = { simple, alfworld };

const system = (task: Task, { view }: TurnState, separator: string): string => {
  const legend = task.legend === "" ? "" : `\n${task.legend}`;
  const actions =
    view.actions === null || task.actionsInState
      ? ""
      : `\nYour available actions are:\n${view.actions.join(", ")}\nYou can make up to ${task.maxActions} actions, separated by the action separator " ${separator} "\n`;
  return `You're a helpful assistant. ${task.instruction}${legend}${actions}`;
};

const lengthText = (task: Task): string => `Max response length: ${task.maxTokens} words (tokens).`;

const turnText = (task: Task, { view, turn, actionsLeft }: TurnState, form: string, invalid: boolean): string =>
  `\nTurn ${turn}:\nState:\n${view.observation}\n${invalid ? warning : ""}You have ${actionsLeft} actions left. ` +
  `Always output: ${form} with no extra text. Strictly follow this format. ${lengthText(task)}\n`;

export const ragen = ({ think, separator }: TemplateOptions): Template => {
  const form = think ? thinkForm : answerForm;
  return {
    prefix: replyPrefix(think),
    opening: (task, turn) => ({
      system: system(task, turn, separator),
      user: turnText(task, turn, form, false),
    }),
    next: (task, turn, previous) =>
      `Reward:\n${pythonReward(previous.reward, previous.executed, task.wholeRewards)}\n${turnText(task, turn, form, previous.invalid)}`,
    reopening: (task, turn, { summary, previousInvalid }) =>
      (summary === "" ? "" : `${summary}\n\n`) + turnText(task, turn, form, previousInvalid),
    retelling: (task, turn, retold) =>
      memories[task.memory](turn, retold, { form, lengthSentence: lengthText(task), wholeRewards: task.wholeRewards }),
    facts: (past) => facts(past, separator),
    summarising: (task, past, before, tokens) =>
      (before === "" ? "" : `Summary of the turns so far:\n${before}\n---\n`) +
      past.map((turn) => pastTurnText(turn, task.wholeRewards)).join("") +
      "These turns will not be shown to you again. Summarize what you need to know of them to finish the task: what you tried, " +
      `what it changed, and what you learned. Write plain text without tags. Max response length: ${tokens} words (tokens).\n`,
    state: (view) => view.observation,
  };
};
