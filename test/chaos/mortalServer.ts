/** The process of a stand-in for W&B's server: says its port and answers until it is killed, or its parent has gone. */
import { createServer } from "node:http";
import { StandIn } from "../observe/sinks/wandb/support.ts";
import { listenerOf } from "./strangers.ts";

process.on("disconnect", () => process.exit(0));
const server = createServer(listenerOf(new StandIn()));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address !== null ? address.port : 0);
});
