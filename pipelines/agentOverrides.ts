/** The overrides that play an agent alone: training and validation under its tag. */
export const agentOverrides = (path: string): readonly string[] => [
  `agent.path=${JSON.stringify(path)}`,
  "agent.tag=Agent",
  "es_manager.train.tags=[Agent]",
  "es_manager.val.tags=[Agent]",
];
