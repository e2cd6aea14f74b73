/** Entry of a thread in which episodes of a module's agent run. */
import { parentPort, workerData } from "node:worker_threads";
import { serveAgent } from "./AgentRunner.ts";

await serveAgent(workerData, {
  send: (message) => parentPort?.postMessage(message),
  onMessage: (receive) => void parentPort?.on("message", receive),
});
