/** Episodes of agents without threads: each agent is a function of the test that calls the real endpoint. */
import { Effect, type Scope } from "effect";
import * as AgentPlayer from "../../src/agents/AgentPlayer.ts";
import { dialects } from "../../src/agents/dialects/main.ts";
import type { AgentHost, EpisodeOrder } from "../../src/agents/host/AgentHost.ts";
import { type HostFailure, hostFailure } from "../../src/agents/host/HostFailure.ts";
import type { AgentResult } from "../../src/agents/host/outcome.ts";
import { controlRoutes } from "../../src/agents/session/control.ts";
import { serveEndpoint } from "../../src/agents/session/endpoint.ts";
import { Sessions } from "../../src/agents/session/Sessions.ts";
import type { PlayGroup, PlayMode } from "../../src/rollout/Rollout.ts";

/** An agent: it plays an episode by calls to the endpoint. An error that it throws fails the episode. */
export type TestAgent = (order: EpisodeOrder, signal: AbortSignal) => Promise<AgentResult>;

export interface OpenedAgents {
  readonly play: PlayGroup;
  readonly url: string;
  readonly sessions: Sessions;
}

/** The account of an agent that earned a reward. */
export const earned = (reward: number): AgentResult => ({
  rewards: { whole: reward, calls: new Map() },
  success: reward > 0,
  metrics: {},
});

const hostOf = (agent: TestAgent): AgentHost => ({
  isControlled: true,
  play: (order) =>
    Effect.tryPromise({
      try: (signal) => agent(order, signal),
      catch: (cause): HostFailure => hostFailure("agent_error", String(cause)),
    }),
});

/** Serves the endpoint for an agent until the scope closes. */
export const openAgents = (
  agent: TestAgent,
  settings: Pick<AgentPlayer.AgentPlayerSettings, "budget" | "model" | "onPlayed">,
): Effect.Effect<OpenedAgents, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sessions = new Sessions();
    const routes = controlRoutes({ sessions, outside: null, token: null, seconds: 60 });
    const { url } = yield* Effect.orDie(serveEndpoint(dialects, sessions, { routes }));
    const play = AgentPlayer.make({
      ...settings,
      sessions,
      host: hostOf(agent),
      endpoint: url,
    });
    return { play, url, sessions };
  });

/** Training by the newest weights at a temperature. */
export const modeAt = (temperature: number): PlayMode => ({
  split: "train",
  sampling: { temperature, topK: -1, topP: 1 },
  pin: null,
  isExcluded: () => false,
  wrapEpisode: (episode) => episode,
});
