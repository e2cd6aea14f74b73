/**
 * The entry of an interpreter's thread: it answers an order with messages, `Done` or `Uncompilable` last. Between orders it keeps only the
 * compiled interpreter, which no submission has touched.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import type { Outcome } from "../Job.ts";
import * as Interpreter from "./Interpreter.ts";
import type { Message, Order } from "./protocol.ts";

if (parentPort === null) throw new Error("this file is the entry of a thread");
const port = parentPort;
const post = (message: Message): void => port.postMessage(message);

// The interpreter is compiled once here, because the library would compile it for each instance.
const library = createRequire(import.meta.resolve("quickjs-emscripten"));
const wasm = await WebAssembly.compile(await readFile(library.resolve("@jitl/quickjs-wasmfile-release-sync/wasm")));

const runOrder = async ({ from, job }: Order): Promise<void> => {
  const interpreter = Interpreter.make(wasm, job);
  post({ _tag: "Began" });
  if (from === 0) {
    const message = await interpreter.compileError();
    if (message !== null) return post({ _tag: "Uncompilable", message });
  }
  for (const input of job.inputs.slice(from)) {
    post({ _tag: "Began" });
    const outcome: Outcome = await interpreter.test(input);
    post({ _tag: "Ended", outcome });
    if (job.stopAtTimeout && outcome._tag === "Failed" && outcome.reason === "timeout") break;
  }
  post({ _tag: "Done" });
};

port.on("message", (order: Order) => void runOrder(order));
