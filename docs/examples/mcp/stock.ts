/** Stock: an environment of the tools of an MCP server. The model asks the server beside this file, and answers with what it said. */
import { join } from "node:path";
import { mcpEnvironment } from "millrace/env/mcp";

const things = ["apples", "boots", "candles", "drums", "easels", "forks", "gloves", "hats"];

export default mcpEnvironment({
  type: "stock",
  server: () => ({ command: process.execPath, args: [join(import.meta.dirname, "server.ts")] }),
  reset: (_config, random) => ({ thing: random.pick(things) }),
  render: (_config, { thing }) => thing,
  reward: async (_config, { thing }, { answer, calls }, server) => {
    const stock = await server.call("stock", { thing });
    return { reward: answer === stock ? 1 : 0, info: { calls: calls.length } };
  },
});
