/** Checks of keys that mean nothing, or something else, where an agent plays. */
import { Schema } from "effect";
import { agentForms, hasAgent, isAgentTag } from "../agentForms.ts";
import type { RunConfig } from "../RunConfig.ts";
import { ManagerSection } from "../sections/ManagerSection.ts";
import { type Check, problemIf } from "./Check.ts";

/** The values that leave a form unset. */
const unset = { path: '""', command: "[]", url: '""', outside: "false" } as const;

const forms = (agent: RunConfig["agent"]): readonly string[] => {
  const [first, second] = agentForms(agent);
  if (first === undefined || second === undefined) return [];
  const value = JSON.stringify(agent[second]);
  return [
    `agent.${second}: ${value}: agent.${first} names an agent already, and a run has one; nearest: ${unset[second]}`,
  ];
};

/** A tag that may be meant, being no preset; else the tags to set. */
const nearestTag = ({ agent, custom_envs, es_manager: { train, val } }: RunConfig): string => {
  const meant = [...train.tags, ...val.tags].find((tag) => !Object.hasOwn(custom_envs, tag));
  return meant === undefined
    ? `es_manager.train.tags=[${agent.tag}] es_manager.val.tags=[${agent.tag}]`
    : JSON.stringify(meant);
};

const defaultFormatPenalty = Schema.decodeSync(ManagerSection)({}).format_penalty;

/** Refuses a penalty of the format where agents alone play. The default passes, since every run has it. */
const formatPenalty: Check = ({ agent, es_manager: { format_penalty, train, val } }) =>
  problemIf(
    [...train.tags, ...val.tags].every((tag) => isAgentTag(agent, tag)) &&
      format_penalty !== 0 &&
      format_penalty !== defaultFormatPenalty,
    () => `es_manager.format_penalty: ${format_penalty}: an agent's reward is its own; nearest: 0`,
  );

export const agent: Check = (config) => {
  const { agent, algorithm, es_manager, pipeline, rollout } = config;
  if (!hasAgent(agent)) return [];
  const { think_coord_fmt_penalty, think_len_penalty, think_quality_penalty, step_penalty } = es_manager;
  const { train, val } = es_manager;
  const penalties = { think_coord_fmt_penalty, think_len_penalty, think_quality_penalty, step_penalty };
  return [
    ...forms(agent),
    ...problemIf(
      ![...train.tags, ...val.tags].some((tag) => isAgentTag(agent, tag)),
      () =>
        `agent.tag: ${JSON.stringify(agent.tag)}: es_manager.train.tags and es_manager.val.tags lack it, so that no agent would play; nearest: ${nearestTag(config)}`,
    ),
    ...problemIf(
      agent.tasks !== "" && agentForms(agent).some((form) => form === "path" || form === "url"),
      () => `agent.tasks: ${JSON.stringify(agent.tasks)}: a module brings its own tasks; nearest: ""`,
    ),
    ...problemIf(
      pipeline.workers.url !== "",
      () =>
        `pipeline.workers.url: ${pipeline.workers.url}: agents are played beside the learner only; nearest: no workers`,
    ),
    ...problemIf(
      pipeline.mode === "lockstep",
      () =>
        "pipeline.mode: lockstep: a turn waits until every episode makes a call, and an agent may wait for something else; nearest: sync",
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
      !rollout.enable_response_mask,
      () =>
        "rollout.enable_response_mask: false: of an agent's calls only what the model sampled is trained on; nearest: true",
    ),
    ...problemIf(
      algorithm.bi_level_gae || algorithm.correction === "vtrace",
      () =>
        `${algorithm.bi_level_gae ? "algorithm.bi_level_gae: true" : "algorithm.correction: vtrace"}: it needs the turns of an episode in one order, and an agent's calls may fork; nearest: ${algorithm.bi_level_gae ? "false" : "none"}`,
    ),
    ...Object.entries(penalties).flatMap(([key, cost]) =>
      problemIf(cost > 0, () => `es_manager.${key}: ${cost}: an agent's reward is its own; nearest: 0`),
    ),
    ...formatPenalty(config),
  ];
};
