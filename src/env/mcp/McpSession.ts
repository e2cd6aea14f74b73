/**
 * One session with a server: a process of its own, or a session over HTTP.
 * Invariants: a session that failed is closed; closing never rejects and leaves no process behind.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Tool } from "../../domain/Conversation.ts";
import { messageOf } from "../contract/prepare.ts";
import type { ToolArguments } from "../contract/tools/ToolAction.ts";
import type { McpAddress, McpCommand } from "./McpDefinition.ts";
import { loadSdk, type McpSdk } from "./sdk.ts";

export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
}

export interface RequestLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export interface McpSession {
  readonly tools: (limits: RequestLimits) => Promise<readonly Tool[]>;
  /** Calls a tool. An error of the call itself is a result; it rejects where the server is gone, silent or broken. */
  readonly call: (name: string, values: ToolArguments, limits: RequestLimits) => Promise<CallResult>;
  readonly close: () => Promise<void>;
}

type Server = McpCommand | McpAddress;

/** Most milliseconds that a server gets to end by itself. */
const graceMs = 1_000;
/** The caller's signal comes before the client's own time limit, so that a silent server is a timeout. */
const spareMs = 5_000;
/** Characters of a server's standard error that its failure quotes. */
const mostStderr = 300;

/** Processes of open sessions, which end with this one. */
const processes = new Set<number>();

/** Sends a signal, 0 only asks. Returns false where there is no such process any more. */
const signalTo = (pid: number, signal: "SIGKILL" | 0): boolean => {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
};

process.on("exit", () => {
  for (const pid of processes) signalTo(pid, "SIGKILL");
});

/** The number of processes of open sessions. */
export const processCount = (): number => processes.size;

/** A connection whose process, if it has one, is known by its id. */
interface Wire {
  readonly transport: Parameters<InstanceType<McpSdk["Client"]>["connect"]>[0];
  /** Null before the process is there, and where it has none. */
  readonly pid: () => number | null;
  /** Tells a server over HTTP that its session has ended. */
  readonly endSession: () => Promise<void>;
  /** The newest text of the server's standard error. */
  readonly stderr: () => string;
}

const stdioWire = ({ StdioClientTransport }: McpSdk, { args = [], command, cwd, env }: McpCommand): Wire => {
  const place = cwd === undefined ? {} : { cwd };
  const variables = env === undefined ? {} : { env: { ...env } };
  const transport = new StdioClientTransport({ command, args: [...args], ...place, ...variables, stderr: "pipe" });
  let pid: number | null = null;
  const start = transport.start.bind(transport);
  // A client whose server does not answer forgets its process, so that the id is noted as soon as there is one.
  transport.start = async () => {
    await start();
    pid = transport.pid;
    if (pid !== null) processes.add(pid);
  };
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-mostStderr);
  });
  return { transport, pid: () => pid, endSession: async () => undefined, stderr: () => stderr.trim() };
};

const httpWire = ({ StreamableHTTPClientTransport }: McpSdk, { headers = {}, url }: McpAddress): Wire => {
  if (!URL.canParse(url))
    throw new Error(`${JSON.stringify(url)} is no address of a server, as http://127.0.0.1:8000/mcp`);
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
  return { transport, pid: () => null, endSession: () => transport.terminateSession(), stderr: () => "" };
};

export const nameOf = (server: Server): string =>
  "url" in server ? server.url : [server.command, ...(server.args ?? [])].join(" ");

/** One part of a result as text; what is no text is named. */
const partText = (part: { readonly type: string; readonly text?: unknown; readonly resource?: unknown }): string => {
  if (part.type === "text" && typeof part.text === "string") return part.text;
  const { resource } = part;
  const isText = typeof resource === "object" && resource !== null && "text" in resource;
  return isText && typeof resource.text === "string" ? resource.text : `(${part.type}, not shown)`;
};

const textOf = (result: object): string => {
  const parts = "content" in result && Array.isArray(result.content) ? result.content.map(partText) : [];
  if (parts.length > 0 || !("structuredContent" in result)) return parts.join("\n");
  return JSON.stringify(result.structuredContent);
};

/** Waits for `ending`, whether it succeeds or fails, but not for long. */
const awaitShortly = (ending: Promise<unknown>): Promise<unknown> =>
  Promise.race([ending.catch(() => undefined), wait(graceMs, undefined, { ref: false })]);

/** Connects to a server. */
export const openSession = async (server: Server, limits: RequestLimits): Promise<McpSession> => {
  const sdk = await loadSdk();
  const wire = "url" in server ? httpWire(sdk, server) : stdioWire(sdk, server);
  const client = new sdk.Client({ name: "millrace", version: "1" });
  const options = ({ signal, timeoutMs }: RequestLimits) => ({ signal, timeout: timeoutMs + spareMs });
  const close = async (): Promise<void> => {
    await awaitShortly(wire.endSession());
    await awaitShortly(client.close());
    const pid = wire.pid();
    if (pid === null) return;
    if (signalTo(pid, 0)) signalTo(pid, "SIGKILL");
    processes.delete(pid);
  };
  /** The rejection of a request, with the end of what the server wrote to its standard error. */
  const failure = (cause: unknown): Error => {
    const said = wire.stderr();
    const quoted = said === "" ? "" : `; its standard error ends with: ${said}`;
    return new Error(`${nameOf(server)}: ${messageOf(cause)}${quoted}`, { cause });
  };
  /** Makes a request; one that fails closes the session. */
  const request = async <A>(make: () => Promise<A>): Promise<A> => {
    try {
      return await make();
    } catch (cause) {
      const error = failure(cause);
      await close();
      throw error;
    }
  };
  await request(() => client.connect(wire.transport, options(limits)));
  return {
    close,
    tools: (each) =>
      request(async () => {
        const tools: Tool[] = [];
        let cursor: string | undefined;
        do {
          const page = await client.listTools(cursor === undefined ? {} : { cursor }, options(each));
          for (const { description = "", inputSchema, name } of page.tools) {
            tools.push({ name, description, parameters: inputSchema });
          }
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        return tools;
      }),
    call: (name, values, each) =>
      request(async () => {
        try {
          const result = await client.callTool({ name, arguments: { ...values } }, undefined, options(each));
          return { text: textOf(result), isError: result.isError === true };
        } catch (cause) {
          // Older servers refuse arguments by an error of the protocol.
          if (!(cause instanceof sdk.McpError) || cause.code !== sdk.ErrorCode.InvalidParams) throw cause;
          return { text: cause.message, isError: true };
        }
      }),
  };
};
