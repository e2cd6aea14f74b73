/** A thread that opens a session of onnxruntime, runs it and ends. */
import { parentPort } from "node:worker_threads";
import { float32, Session } from "../../../src/model/runtime/Session.ts";
import { add } from "../../../src/model/tensor/Elementwise.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";

const graph = new Graph("double");
const x = graph.input("x", "float32", ["n"]);
graph.output("y", add(x, x));
await using session = await Session.open(graph.toModel());
using outputs = await session.run({ x: float32(Float32Array.of(21), [1]) });
parentPort?.postMessage(outputs.float32("y")[0]);
