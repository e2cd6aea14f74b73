/** A rollout without a tokenizer: the tasks, texts and limits of a run file. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { templates } from "../../rollout/Rollout.ts";
import type { Task } from "../../rollout/Task.ts";
import type { TextRollout } from "./play.ts";

export const textRollout = (config: RunConfig, tasks: Iterable<Task>): TextRollout => ({
  tasks: new Map(Array.from(tasks, (task) => [task.tag, task])),
  template: templates[config.rollout.template]({
    think: config.rollout.enable_think,
    separator: config.rollout.action_sep,
  }),
  limits: config.rollout,
  penalties: config.es_manager,
  seed: config.run.seed,
});
