/**
 * The shortest prompt a model of about a million parameters needs: the kind of environment as the system message, then per turn the
 * compact state and the number of actions left. It gives no instruction, no answer format and no reward: such a model learns them from its updates.
 */
import { type Moment, replyPrefix, type Template, type TemplateOptions } from "./Template.ts";

const turnText = ({ view, actionsLeft }: Moment): string => `${view.compact}\n${actionsLeft}`;

export const compact = ({ think }: TemplateOptions): Template => ({
  prefix: replyPrefix(think),
  opening: (task, moment) => ({ system: task.kind, user: turnText(moment) }),
  next: (_task, moment) => turnText(moment),
  state: (view) => view.compact,
});
