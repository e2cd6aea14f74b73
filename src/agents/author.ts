/** The entry `millrace/agent`: an agent of one's own, which a run trains as it is. */
export { type Agent, type AgentContext, type AgentEpisode, type AgentOutcome, defineAgent } from "./host/Agent.ts";
export type { ActionResult, Observation, PlayedEnvironment } from "./host/environments.ts";
export { type RolloutHandlerOptions, rolloutHandler } from "./host/rolloutHandler.ts";
