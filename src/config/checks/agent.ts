/** Checks of keys that mean nothing, or something else, where an agent plays. */
import { type Check, problemIf } from "./Check.ts";

export const agent: Check = ({ agent: { path }, algorithm, es_manager, pipeline, rollout }) => {
  if (path === "") return [];
  const { think_coord_fmt_penalty, think_len_penalty, think_quality_penalty, step_penalty } = es_manager;
  const penalties = { think_coord_fmt_penalty, think_len_penalty, think_quality_penalty, step_penalty };
  return [
    ...problemIf(
      pipeline.workers.url !== "",
      () =>
        `pipeline.workers.url: ${pipeline.workers.url}: agents are played beside the learner only; nearest: no workers`,
    ),
    ...problemIf(
      rollout.context !== "full",
      () => `rollout.context: ${rollout.context}: an agent decides what it shows of its history; nearest: full`,
    ),
    ...problemIf(
      rollout.overflow !== "end",
      () => `rollout.overflow: ${rollout.overflow}: an agent shortens its history itself; nearest: end`,
    ),
    ...problemIf(
      algorithm.bi_level_gae || algorithm.correction === "vtrace",
      () =>
        `${algorithm.bi_level_gae ? "algorithm.bi_level_gae: true" : "algorithm.correction: vtrace"}: it needs the turns of an episode in one order, and an agent's calls may fork; nearest: ${algorithm.bi_level_gae ? "false" : "none"}`,
    ),
    ...Object.entries(penalties).flatMap(([key, cost]) =>
      problemIf(cost > 0, () => `es_manager.${key}: ${cost}: an agent's reward is its own; nearest: 0`),
    ),
  ];
};
