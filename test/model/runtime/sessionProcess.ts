/** A process that prints what a session in one of its threads computes. */
import { startWorker } from "../../../src/model/runtime/ThreadsAhead.ts";

startWorker({ name: "session", url: new URL("./sessionWorker.ts", import.meta.url) }).on("message", console.log);
