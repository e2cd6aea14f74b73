/** The agent that a run file names, ready to play: its threads, and the endpoint that answers its calls. */
import { Effect, type Scope } from "effect";
import * as AgentPlayer from "../agents/AgentPlayer.ts";
import { dialects } from "../agents/dialects/main.ts";
import * as AgentThreads from "../agents/host/AgentThreads.ts";
import { agentModel } from "../agents/session/agentModelOf.ts";
import { serveEndpoint } from "../agents/session/endpoint.ts";
import { Sessions } from "../agents/session/Sessions.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import { gamesUrl } from "../env/games/registry.ts";
import type { Model } from "../model/Model.ts";
import { type PlayGroup, templates } from "../rollout/Rollout.ts";

/** Players of the run's agent by its tag; none where there is no agent. Fails with BadInput where its module cannot be used. */
export const openAgents = Effect.fnUntraced(function* (
  config: RunConfig,
  model: Model,
  onPlayed?: AgentPlayer.AgentPlayerSettings["onPlayed"],
): Effect.fn.Return<ReadonlyMap<string, PlayGroup>, BadInput, Scope.Scope> {
  const { agent, rollout } = config;
  if (agent.path === "") return new Map();
  const sessions = new Sessions();
  const { url } = yield* Effect.mapError(
    serveEndpoint(dialects, sessions),
    ({ message }) => new BadInput({ message: `agent: its endpoint cannot be served: ${message}` }),
  );
  const threads = yield* AgentThreads.make(
    { path: agent.path, registry: gamesUrl.href, presets: config.custom_envs },
    { threads: agent.threads, episodeMs: agent.seconds * 1_000, silentMs: agent.blocked_seconds * 1_000 },
  );
  const badTemplate = ({ message }: { readonly message: string }) => new BadInput({ message: `agent: ${message}` });
  const { prefix } = templates[rollout.template]({ think: rollout.enable_think, separator: rollout.action_sep });
  const play = AgentPlayer.make({
    ...(onPlayed === undefined ? {} : { onPlayed }),
    threads,
    sessions,
    endpoint: url,
    model: yield* Effect.mapError(agentModel(model, prefix), badTemplate),
    budget: {
      calls: agent.max_calls,
      contextTokens: rollout.max_model_len,
      replyTokens: rollout.response_length,
    },
  });
  return new Map([[agent.tag, play]]);
});
