/**
 * A process with a thread that is always inside native code. It says when the thread is busy, and at the first signal leaves with 130, the
 * listeners of its exit told.
 */
import { parentPort, Worker } from "node:worker_threads";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { gemm } from "../../../src/model/tensor/Linear.ts";
import { exitNow } from "../../../src/support/process/exitNow.ts";
import { load } from "../../model/tensor/session.ts";

const width = 1_000;

/** Multiplies matrices for ever: each run is some 30 ms in one native call. */
const multiply = async (ready: () => void): Promise<never> => {
  const graph = new Graph();
  const square = graph.input("square", "float32", [width, width]);
  graph.output("product", gemm(square, square));
  const model = await load(graph.toModel());
  const feeds = { square: { dtype: "float32", dims: [width, width], data: new Float32Array(width * width) } } as const;
  ready();
  for (;;) await model.run(feeds);
};

if (parentPort === null) {
  process.on("exit", (code) => process.stdout.write(code === 130 ? "left\n" : "ended otherwise\n"));
  process.on("SIGINT", () => exitNow(130));
  new Worker(new URL(import.meta.url)).once("message", () => process.stdout.write("busy\n"));
} else {
  const owner = parentPort;
  void multiply(() => owner.postMessage(null));
}
