/** The forms in which a run file names an agent of the user's own. A run has at most one. */
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

/** True for the tag of the run's agent, which is no preset. */
export const isAgentTag = (agent: RunConfig["agent"], tag: string): boolean => hasAgent(agent) && tag === agent.tag;
