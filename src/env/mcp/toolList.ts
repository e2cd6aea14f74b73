/** The tools of a server, as a run offers them: listed once for each configuration, over a session that is closed again. */
import type { Tool } from "../../domain/Conversation.ts";
import { namesProblem } from "../contract/tools/checkCall.ts";
import type { McpAddress, McpCommand } from "./McpDefinition.ts";
import { nameOf, openSession } from "./McpSession.ts";

export interface ListedServer {
  readonly server: McpCommand | McpAddress;
  /** Names of the tools that are offered; undefined for all. */
  readonly chosen: readonly string[] | undefined;
  readonly timeoutMs: number;
}

/** Lists a server's tools; rejects with a sentence where they cannot be offered. */
const list = async ({ chosen, server, timeoutMs }: ListedServer): Promise<readonly Tool[]> => {
  const limits = { signal: AbortSignal.timeout(timeoutMs), timeoutMs };
  const session = await openSession(server, limits);
  const all = await session.tools(limits);
  await session.close();
  const names = all.map(({ name }) => name);
  const unknown = chosen?.find((name) => !names.includes(name));
  const problem =
    unknown === undefined ? namesProblem(all) : `it has no tool ${unknown}; its tools: ${names.join(", ")}`;
  if (problem !== null) throw new Error(`${nameOf(server)}: ${problem}`);
  return all.filter(({ name }) => chosen?.includes(name) ?? true);
};

/** Lists the tools of configurations, each once; a list that failed is tried again. */
export const toolLists = <Config>(serverOf: (config: Config) => ListedServer) => {
  const lists = new Map<Config, Promise<readonly Tool[]>>();
  return (config: Config): Promise<readonly Tool[]> => {
    const earlier = lists.get(config);
    if (earlier !== undefined) return earlier;
    const listed = list(serverOf(config));
    lists.set(config, listed);
    listed.catch(() => lists.delete(config));
    return listed;
  };
};
