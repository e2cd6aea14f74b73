/** An environment of the tools of an MCP server, as its author writes it: the server, a task, and the reward of an episode. */

import type { Random } from "../../domain/Random.ts";
import type { Split } from "../contract/Environment.ts";
import type { ConfigOf, Keys } from "../contract/EnvironmentDefinition.ts";
import type { ToolArguments } from "../contract/tools/ToolAction.ts";

/** A server that is started for each episode and spoken to over its standard input and output. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables of its environment, beside the few that the SDK hands on (PATH, HOME, …). */
  readonly env?: Readonly<Record<string, string>>;
  /** The process's own folder by default. */
  readonly cwd?: string;
}

/** A server that runs already, spoken to over streamable HTTP. */
export interface McpAddress {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An episode's own session with the server. */
export interface McpConnection {
  /** Calls a tool, also one that the model is not offered, and resolves to its text. It rejects where the tool reports an error. */
  readonly call: (name: string, values?: ToolArguments) => Promise<string>;
}

/** A call that the model made. */
export interface McpCall {
  readonly name: string;
  readonly arguments: ToolArguments;
  /** The text that the model was shown. */
  readonly text: string;
  /** The server reported an error of the call. */
  readonly isError: boolean;
}

/** An episode up to its answer. */
export interface McpTranscript {
  readonly calls: readonly McpCall[];
  /** The reply that called no tool. */
  readonly answer: string;
}

/** The reward of an episode; a number alone counts as success where it is above 0. */
export interface McpScore {
  readonly reward: number;
  readonly success?: boolean;
  /** Numbers that become metrics. */
  readonly info?: Readonly<Record<string, number | boolean>>;
}

/** An environment of the tools of an MCP server. `Task` is plain data. */
export interface McpDefinition<K extends Keys, Task> {
  /** The environment's name. */
  readonly type: string;
  /** The keys of `env_config`, each with a default; none by default. */
  readonly config?: K;
  readonly server: (config: ConfigOf<K>) => McpCommand | McpAddress;
  /** Names of the server's tools that the model is offered; all by default. */
  readonly tools?: readonly string[];
  /** Draws a task. All chance comes from `random`, so that a seed gives the same task everywhere. */
  readonly reset: (config: ConfigOf<K>, random: Random, split: Split) => Task;
  /** The user's message: what the model is asked. */
  readonly render: (config: ConfigOf<K>, task: Task) => string;
  /** Prepares the session of an episode before its first call. */
  readonly begin?: (config: ConfigOf<K>, task: Task, server: McpConnection) => Promise<void>;
  /** Scores an episode that has ended in an answer. Where it throws, the episode fails; it never counts as one that earned 0. */
  readonly reward: (
    config: ConfigOf<K>,
    task: Task,
    transcript: McpTranscript,
    server: McpConnection,
  ) => number | McpScore | Promise<number | McpScore>;
  /** Equal for equal tasks, by which validation is kept out of training; all of the task by default. */
  readonly contentKey?: (config: ConfigOf<K>, task: Task) => string;
  /** Most requests to servers at once; 8 by default. */
  readonly capacity?: number;
  /** Most milliseconds of one call, the start of its session included; 30 000 by default. */
  readonly timeoutMs?: number;
}
