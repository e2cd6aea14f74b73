/**
 * The overrides that play an agent alone, named by its module, its server's address or its command: training and validation under its tag. It takes
 * the place of the run file's agent.
 */
import { isModulePath } from "../src/config/modulePath.ts";

/** Keys that leave a run file's agent out. */
const noAgent = ['agent.path=""', "agent.command=[]", 'agent.url=""', "agent.outside=false"];
/** Modules and servers bring tasks of their own. */
const noTasks = 'agent.tasks=""';

const agentKeys = (agent: string): readonly string[] => {
  if (/^https?:\/\//.test(agent)) return [noTasks, `agent.url=${JSON.stringify(agent)}`];
  const words = agent.trim().split(/\s+/);
  const isModule = words.length === 1 && isModulePath(agent) && !/\.(?:py|rb|sh)$/.test(agent);
  return isModule ? [noTasks, `agent.path=${JSON.stringify(agent)}`] : [`agent.command=${JSON.stringify(words)}`];
};

export const agentOverrides = (agent: string): readonly string[] => [
  ...noAgent,
  ...agentKeys(agent),
  "agent.tag=Agent",
  "es_manager.train.tags=[Agent]",
  "es_manager.val.tags=[Agent]",
];
