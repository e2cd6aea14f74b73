/** The entry `millrace/env/mcp` for environments of the tools of an MCP server. */
export type {
  McpAddress,
  McpCall,
  McpCommand,
  McpConnection,
  McpDefinition,
  McpScore,
  McpTranscript,
} from "./McpDefinition.ts";
export { mcpEnvironment } from "./mcpEnvironment.ts";
export type { McpState } from "./playEpisode.ts";
