/**
 * The overrides that play an agent alone, named by its module, its server's address or its command: training and validation under its tag. It takes
 * the place of the agent that the run file names.
 */
import { isModulePath } from "../src/config/modulePath.ts";

const agentKey = (agent: string): string => {
  if (/^https?:\/\//.test(agent)) return `agent.url=${JSON.stringify(agent)}`;
  const words = agent.trim().split(/\s+/);
  const isModule = words.length === 1 && isModulePath(agent) && !/\.(?:py|rb|sh)$/.test(agent);
  return isModule ? `agent.path=${JSON.stringify(agent)}` : `agent.command=${JSON.stringify(words)}`;
};

export const agentOverrides = (agent: string): readonly string[] => [
  'agent.path=""',
  'agent.url=""',
  "agent.command=[]",
  agentKey(agent),
  "agent.tag=Agent",
  "es_manager.train.tags=[Agent]",
  "es_manager.val.tags=[Agent]",
];
