/** The agent that a run file names, ready to play: where it runs, and the endpoint that answers its calls. */
import { Console, Effect, type Scope } from "effect";
import * as AgentEpisodes from "../agents/AgentEpisodes.ts";
import * as AgentPlayer from "../agents/AgentPlayer.ts";
import { dialects } from "../agents/dialects/main.ts";
import * as AgentCommands from "../agents/host/AgentCommands.ts";
import type { AgentHost } from "../agents/host/AgentHost.ts";
import * as AgentProcesses from "../agents/host/AgentProcesses.ts";
import * as AgentServer from "../agents/host/AgentServer.ts";
import * as AgentThreads from "../agents/host/AgentThreads.ts";
import * as OutsideAgents from "../agents/host/OutsideAgents.ts";
import { taskSource } from "../agents/host/tasks.ts";
import type { AgentModel } from "../agents/session/AgentModel.ts";
import { agentModel } from "../agents/session/agentModelOf.ts";
import { agentReplyPrefix } from "../agents/session/agentReplyPrefix.ts";
import { controlRoutes } from "../agents/session/control.ts";
import { serveEndpoint } from "../agents/session/endpoint.ts";
import { Sessions } from "../agents/session/Sessions.ts";
import { type AgentForm, agentForms } from "../config/agentForms.ts";
import { withLevels } from "../config/levels.ts";
import type { Endpoint } from "../config/players.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import type { Prompt } from "../domain/Group.ts";
import { levelTag } from "../domain/Group.ts";
import { gamesUrl } from "../env/games/registry.ts";
import type { Model } from "../model/Model.ts";
import type { PlayGroup } from "../rollout/Rollout.ts";
import { freePortAbove } from "../support/http/freePort.ts";
import { loopback, readToken } from "../support/http/serverFlags.ts";
import type { EndpointStopped, Unanswered } from "../tools/endpoints/Chat.ts";
import { type ChatClient, ignoredWishes } from "../tools/endpoints/ChatClient.ts";
import { endpointEpisodeOf } from "../tools/evaluation/agentChats.ts";
import type { EvaluatedEpisode } from "../tools/evaluation/EvaluatedEpisode.ts";
import { type NotPlayed, notPlayed } from "../tools/evaluation/NotPlayed.ts";
import { EndpointReplies } from "./EndpointReplies.ts";

/** The tasks of a file. Rejects with a sentence where they cannot be read, or a level has none. */
const readTasks = async (tasks: string, levels: readonly string[]) => {
  const taskOf = await taskSource("", { tasks });
  for (const level of levels) taskOf(0, "train", level);
  return taskOf;
};

/** The tasks of a run file; null for each episode where it names none. */
const tasksOf = ({ levels, tasks }: RunConfig["agent"]) =>
  tasks === ""
    ? Effect.succeed(() => null)
    : Effect.tryPromise({
        try: () => readTasks(tasks, levels),
        catch: (cause) => new BadInput({ message: `agent.${cause instanceof Error ? cause.message : cause}` }),
      });

/** The host of each form. Fails with BadInput where the agent cannot be used. */
const openHost = (
  form: AgentForm,
  { agent, custom_envs }: RunConfig,
  token: string | null,
): Effect.Effect<AgentHost | OutsideAgents.OutsideAgents, BadInput, Scope.Scope> => {
  const { processes, seconds, threads } = agent;
  const setup = { path: agent.path, registry: gamesUrl.href, presets: withLevels(custom_envs) };
  switch (form) {
    case "path":
      return agent.isolate === "process"
        ? AgentProcesses.make(setup, { processes, seconds })
        : AgentThreads.make(setup, { threads, seconds, silentSeconds: agent.blocked_seconds });
    case "command":
      return Effect.flatMap(tasksOf(agent), (taskOf) =>
        AgentCommands.make(agent.command, taskOf, { processes, seconds }),
      );
    case "url":
      return Effect.succeed(AgentServer.make(agent.url, token, { seconds }));
    case "outside":
      return Effect.map(tasksOf(agent), (taskOf) =>
        OutsideAgents.make(taskOf, { seconds, openSeconds: agent.open_seconds }),
      );
  }
};

/** Serves the endpoint at `agent.port`. Fails with BadInput where the port is taken. */
const openEndpoint = Effect.fnUntraced(function* (
  { agent: { port, seconds } }: RunConfig,
  sessions: Sessions,
  host: AgentHost | OutsideAgents.OutsideAgents,
  token: string | null,
) {
  const outside = "open" in host ? host : null;
  const routes = controlRoutes({ sessions, outside, token, seconds });
  const serving = serveEndpoint(dialects, sessions, { routes, port });
  return yield* Effect.catch(serving, ({ code }) =>
    Effect.flatMap(
      Effect.promise(() => freePortAbove(loopback, port)),
      (nearest) =>
        new BadInput({
          message: `agent.port: ${port}: ${code === "EADDRINUSE" ? `in use on ${loopback}` : code}; nearest: ${nearest ?? "none"}`,
        }),
    ),
  );
});

/** Opens what runs the agent of a run file, and the endpoint that it calls. Fails with BadInput where the agent cannot be used. */
const openAgent = Effect.fnUntraced(function* (
  config: RunConfig,
  form: AgentForm,
): Effect.fn.Return<AgentEpisodes.OpenedAgent, BadInput, Scope.Scope> {
  const token = yield* readToken(null);
  const sessions = new Sessions();
  const host = yield* openHost(form, config, token);
  const { url } = yield* openEndpoint(config, sessions, host, token);
  if (form === "outside")
    yield* Console.log(
      `agents: POST ${url}/v1/episodes opens an episode; one that is not opened for ${config.agent.open_seconds} s fails`,
    );
  const { levels, tag } = config.agent;
  return {
    host,
    sessions,
    endpoint: url,
    levels: new Map(levels.map((level) => [levelTag(tag, level), level] as const)),
  };
});

/** The run's model as its agent calls it. Fails with BadInput where agents cannot use its chat template. */
export const openAgentModel = (config: RunConfig, model: Model): Effect.Effect<AgentModel, BadInput, Scope.Scope> =>
  Effect.mapError(
    agentModel(model, agentReplyPrefix(config, model.tokenizer)),
    ({ message }) => new BadInput({ message: `agent: ${message}` }),
  );

/** Parts of the players that a caller makes itself. */
export type AgentPlayerParts = Partial<Pick<AgentPlayer.AgentPlayerSettings, "model" | "onPlayed">>;

/** Players of the run's agent by its tag; none where there is no agent. Fails with BadInput where it cannot be used. */
export const openAgents = Effect.fnUntraced(function* (
  config: RunConfig,
  model: Model,
  parts: AgentPlayerParts = {},
): Effect.fn.Return<ReadonlyMap<string, PlayGroup>, BadInput, Scope.Scope> {
  const { agent, rollout } = config;
  const [form] = agentForms(agent);
  if (form === undefined) return new Map();
  const play = AgentPlayer.make({
    ...parts,
    ...(yield* openAgent(config, form)),
    model: parts.model ?? (yield* openAgentModel(config, model)),
    budget: {
      calls: agent.max_calls,
      contextTokens: rollout.max_model_len,
      replyTokens: rollout.response_length,
    },
  });
  const tags = [agent.tag, ...agent.levels.map((level) => levelTag(agent.tag, level))];
  return new Map(tags.map((tag) => [tag, play] as const));
});

/** Plays one validation episode of an agent whose calls a chat endpoint answers. */
export type PlayByEndpoint = (
  prompt: Prompt,
  member: number,
) => Effect.Effect<EvaluatedEpisode | NotPlayed, BadInput | EndpointStopped>;

/** Opens the run's agent, to be played by a chat endpoint; null where there is no agent. Fails with BadInput where it cannot be used. */
export const openAgentByEndpoint = Effect.fnUntraced(function* (
  config: RunConfig,
  endpoint: Endpoint,
  client: ChatClient,
): Effect.fn.Return<PlayByEndpoint | null, BadInput, Scope.Scope> {
  const { agent, run } = config;
  const [form] = agentForms(agent);
  if (form === undefined) return null;
  const replied = new EndpointReplies(client, ignoredWishes(endpoint));
  const playEpisode = AgentEpisodes.make({
    ...(yield* openAgent(config, form)),
    calls: agent.max_calls,
    textOf: (sampled) => replied.textOf(sampled),
    notices: {
      samplingSource: "the run file's and the protocol's (evaluation.endpoint: temperature, omit, extra_body)",
      isTrainable: false,
    },
  });
  return (prompt, member) => {
    const { group, seed, tag } = prompt;
    const play = playEpisode<Unanswered | EndpointStopped>(
      { seed: run.seed, split: "val", prompt, member },
      (onFailure) => replied.episode(onFailure),
    );
    return play.pipe(
      Effect.map((episode) => endpointEpisodeOf(episode, (turn) => replied.countedOf(turn.sampled))),
      Effect.catchTag("Unanswered", ({ message, reason }) =>
        Effect.succeed(notPlayed({ group, tag, seed, member }, reason, message)),
      ),
    );
  };
});
