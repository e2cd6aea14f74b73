/** The entry of an environment thread: it takes over the process's cache of compiled code, which halves the time to start, then loads the rest. */
import module from "node:module";
import { workerData } from "node:worker_threads";
import type { Setup } from "./worker.ts";

const { compileCache } = workerData as Setup;
if (compileCache !== null) module.enableCompileCache(compileCache);
const { default: answer } = await import("./worker.ts");
module.flushCompileCache();

export default answer;
