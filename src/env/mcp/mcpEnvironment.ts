/**
 * An environment of the tools of an MCP server. The tools are listed once, before the run; each episode has a session of its own, opened at its
 * first call.
 * Invariant: an episode whose server dies, is silent or answers nonsense fails with a sentence; it never counts as one that earned 0.
 */
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { BaseInfo } from "../contract/Environment.ts";
import { type ConfigOf, type ExtraInfo, type Keys, schemaOf } from "../contract/EnvironmentDefinition.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { readAction } from "../contract/tools/ToolAction.ts";
import type { McpDefinition } from "./McpDefinition.ts";
import { afterEnd, callTool, type McpEpisode, type McpState, scoreAnswer } from "./playEpisode.ts";
import * as Sessions from "./Sessions.ts";
import { lacksSdk } from "./sdk.ts";
import { toolLists } from "./toolList.ts";

/** Makes an environment for `export default`, of the tools of an MCP server. */
export const mcpEnvironment = <const K extends Keys, Task>(
  definition: McpDefinition<K, Task>,
): AsyncEnvironment<ConfigOf<K>, McpState<Task>, BaseInfo & ExtraInfo> => {
  const { begin, capacity = 8, contentKey, render, reset, reward, server, timeoutMs = 30_000, type } = definition;
  type Config = ConfigOf<K>;
  const toolsOf = toolLists((config: Config) => ({ server: server(config), chosen: definition.tools, timeoutMs }));
  const episodeOf = (config: Config): McpEpisode<Task> => ({
    type,
    server: server(config),
    begin: begin && ((task, connection) => begin(config, task, connection)),
    reward: (task, transcript, connection) => reward(config, task, transcript, connection),
  });
  return {
    type,
    asynchronous: true,
    config: schemaOf<K>(definition.config),
    reset: async (config, random, split) => ({
      task: reset(config, random, split),
      session: null,
      calls: [],
      end: null,
    }),
    step: async (config, state, action, _random, signal) => {
      if (state.end !== null) return afterEnd(state);
      const tools = await toolsOf(config);
      const read = readAction(action, tools);
      const limits = { signal, timeoutMs };
      if (read._tag === "Answer") return scoreAnswer(episodeOf(config), state, read.text, limits);
      if (read._tag === "Call") return callTool(episodeOf(config), state, read.name, read.arguments, limits);
      const reason = "its arguments are no JSON object";
      throw new IllegalAction({ env_type: type, action, valid: tools.map(({ name }) => name), reason });
    },
    release: async (_config, { session }) => {
      if (session !== null) await Sessions.release(session);
    },
    describe: async (config) => ({ tools: await toolsOf(config) }),
    render: (config, { task }) => render(config, task),
    compact: (config, { task }) => render(config, task),
    actions: () => null,
    legend: () => "",
    contentKey: (config, { task }) => contentKey?.(config, task) ?? `${type} ${JSON.stringify(task)}`,
    capacity: () => capacity,
    timeoutMs: () => timeoutMs,
    lacks: () => lacksSdk(),
  };
};
