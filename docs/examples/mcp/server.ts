/** A server of the Model Context Protocol with one tool: how many of a thing a shop has in stock. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const stockOf = (thing: string): number => [...thing].reduce((sum, letter) => (sum + letter.charCodeAt(0)) % 10, 0);

const server = new Server({ name: "stock", version: "1.0.0" }, { capabilities: { tools: {} } });

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [
    {
      name: "stock",
      description: "how many of a thing are in stock",
      inputSchema: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
    },
  ],
}));

server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: "text", text: `${stockOf(String(params.arguments?.thing))}` }],
}));

await server.connect(new StdioServerTransport());
