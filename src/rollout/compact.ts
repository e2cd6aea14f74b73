/**
 * The shortest prompt that a model of about a million parameters needs: the kind of environment as the system message, then the compact
 * state and the actions left. It names no answer format, reward or instruction, because such a model learns them from its updates; only a
 * user's own environment adds its instruction. A summary is the actions alone.
 */
import type { Task } from "./Task.ts";
import { type PastTurn, replyPrefix, type Template, type TemplateOptions, type TurnState } from "./Template.ts";

const turnText = ({ view, actionsLeft }: TurnState): string => `${view.compact}\n${actionsLeft}`;

const system = ({ instruction, isCustom, kind }: Task): string =>
  isCustom && instruction.trim() !== "" ? `${kind}\n${instruction.trim()}` : kind;

const line = (text: string): string => (text === "" ? "" : `${text}\n`);

export const compact = ({ separator, think }: TemplateOptions): Template => {
  const acted = ({ actions }: PastTurn): string => (actions.length === 0 ? "no" : actions.join(` ${separator} `));
  const retold = (turn: PastTurn): string => `${turn.before.view.compact}\n${acted(turn)}\n`;
  return {
    prefix: replyPrefix(think),
    opening: (task, turn) => ({ system: system(task), user: turnText(turn) }),
    next: (_task, turn) => turnText(turn),
    reopening: (_task, turn, { summary }) => line(summary) + turnText(turn),
    retelling: (_task, turn, { shown, summary }) => line(summary) + shown.map(retold).join("") + turnText(turn),
    facts: (past) => past.map(acted).join(` ${separator} `),
    summarising: (_task, past, before) => `${line(before)}${past.map(retold).join("")}state`,
    state: (view) => view.compact,
  };
};
