/** The official SDK of the Model Context Protocol, an optional package that is loaded on use. */
import { messageOf } from "../contract/prepare.ts";

const importSdk = async () => {
  const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, { ErrorCode, McpError }] =
    await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/stdio.js"),
      import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      import("@modelcontextprotocol/sdk/types.js"),
    ]);
  return { Client, StdioClientTransport, StreamableHTTPClientTransport, ErrorCode, McpError };
};

export type McpSdk = Awaited<ReturnType<typeof importSdk>>;

let loading: Promise<McpSdk> | undefined;

/** The SDK; rejects where it is not installed. */
export const loadSdk = (): Promise<McpSdk> => {
  loading ??= importSdk();
  return loading;
};

const missing =
  "the tools of an MCP server need the package @modelcontextprotocol/sdk: npm install @modelcontextprotocol/sdk";

/** Says what is missing on this machine; empty where nothing is. */
export const lacksSdk = async (load: () => Promise<unknown> = loadSdk): Promise<readonly string[]> => {
  try {
    await load();
    return [];
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    return [isMissing ? missing : `@modelcontextprotocol/sdk cannot be loaded: ${messageOf(cause)}`];
  }
};
