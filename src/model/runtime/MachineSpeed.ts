/**
 * Measures this machine's speed with one onnxruntime thread: operations of a large matrix product, and bytes that a thin product
 * reads.
 * It takes a fraction of a second and blocks the calling thread.
 */
import { Graph } from "../tensor/Graph.ts";
import { gemm } from "../tensor/Linear.ts";
import { float32, Session } from "./Session.ts";

export interface MachineSpeed {
  /** Floating-point operations a second. */
  readonly flops: number;
  /** Bytes a second. */
  readonly bytes: number;
}

/** Seconds of the fastest of some products [rows, width] [width, width], the first being left out. */
const fastestSeconds = async (rows: number, width: number, runs: number): Promise<number> => {
  const graph = new Graph("unit");
  const left = graph.input("left", "float32", [rows, width]);
  const right = graph.input("right", "float32", [width, width]);
  graph.output("product", gemm(left, right, { transB: true }));
  await using session = await Session.open(graph.toModel());
  const filled = (count: number) => new Float32Array(count).fill(0.5);
  const feeds = {
    left: float32(filled(rows * width), [rows, width]),
    right: float32(filled(width * width), [width, width]),
  };
  const times: number[] = [];
  for (let run = 0; run <= runs; run++) {
    const start = performance.now();
    using _ = await session.run(feeds);
    times.push(performance.now() - start);
  }
  return Math.min(...times.slice(1)) / 1000;
};

/** Large enough to leave the processor's caches. */
const WIDE = 4096;
const SQUARE = 768;
const FEW_ROWS = 8;

export const measure = async (): Promise<MachineSpeed> => {
  const square = await fastestSeconds(SQUARE, SQUARE, 12);
  const thin = await fastestSeconds(FEW_ROWS, WIDE, 6);
  return { flops: (2 * SQUARE ** 3) / square, bytes: (WIDE * WIDE * Float32Array.BYTES_PER_ELEMENT) / thin };
};
