/** Entry of a process in which one episode of a module's agent runs. It ends with the process that started it. */
import process from "node:process";
import { serveAgent } from "./AgentRunner.ts";
import type { RunnerSetup } from "./messages.ts";

const send = process.send?.bind(process);
// Agents may not end the process, so the call is taken before it is guarded.
const kill = process.kill.bind(process);
process.on("disconnect", () => kill(process.pid, "SIGKILL"));
process.once("message", (setup: RunnerSetup) => {
  void serveAgent(setup, {
    send: (message) => void send?.(message),
    onMessage: (receive) => void process.on("message", receive),
  });
});
