/** The forms in which a run file names an agent of the user's own. A run has at most one. */
import { levelTag } from "../domain/Group.ts";
import type { RunConfig } from "./RunConfig.ts";

export type AgentForm = "path" | "command" | "url" | "outside";

/** The forms that are set. */
export const agentForms = ({ command, outside, path, url }: RunConfig["agent"]): readonly AgentForm[] => [
  ...(path === "" ? [] : (["path"] as const)),
  ...(command.length === 0 ? [] : (["command"] as const)),
  ...(url === "" ? [] : (["url"] as const)),
  ...(outside ? (["outside"] as const) : []),
];

export const hasAgent = (agent: RunConfig["agent"]): boolean => agentForms(agent).length > 0;

/** True for the tag of the run's agent or of one of its levels, which are no presets. */
export const isAgentTag = (agent: RunConfig["agent"], tag: string): boolean =>
  hasAgent(agent) && (tag === agent.tag || agent.levels.some((level) => tag === levelTag(agent.tag, level)));
