/**
 * RAGEN's prompt texts, so that runs compare: instruction, legend, legal actions and budget in the system message, then per turn the
 * state, the actions left and the form asked for. Differs from RAGEN in that the legend is the one of the preset's own configuration.
 */
import { pythonReward } from "./pythonNumber.ts";
import type { Task } from "./Task.ts";
import { type Moment, replyPrefix, type Template, type TemplateOptions } from "./Template.ts";

const warning = "No valid action provided previously. Environment state remains the same. Please try again.\n";
const answerForm = "<answer> [your answer] </answer>";
const thinkForm = `<think> [Your thoughts] </think> ${answerForm}`;

const system = (task: Task, { view }: Moment, separator: string): string => {
  const legend = task.legend === "" ? "" : `\n${task.legend}`;
  const actions =
    view.actions === null || task.actionsInState
      ? ""
      : `\nYour available actions are:\n${view.actions.join(", ")}\nYou can make up to ${task.maxActions} actions, separated by the action separator " ${separator} "\n`;
  return `You're a helpful assistant. ${task.instruction}${legend}${actions}`;
};

const turnText = (task: Task, { view, turn, actionsLeft }: Moment, form: string, invalid: boolean): string =>
  `\nTurn ${turn}:\nState:\n${view.observation}\n${invalid ? warning : ""}You have ${actionsLeft} actions left. ` +
  `Always output: ${form} with no extra text. Strictly follow this format. ` +
  `Max response length: ${task.maxTokens} words (tokens).\n`;

export const ragen = ({ think, separator }: TemplateOptions): Template => {
  const form = think ? thinkForm : answerForm;
  return {
    prefix: replyPrefix(think),
    opening: (task, moment) => ({
      system: system(task, moment, separator),
      user: turnText(task, moment, form, false),
    }),
    next: (task, moment, previous) =>
      `Reward:\n${pythonReward(previous.reward, previous.executed, task.wholeRewards)}\n${turnText(task, moment, form, previous.invalid)}`,
    state: (view) => view.observation,
  };
};
