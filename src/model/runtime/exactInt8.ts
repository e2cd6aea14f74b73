/**
 * Probes whether this CPU's products of 8-bit numbers are exact. Where the runtime adds pairs of products in 16 bits, large ones saturate and
 * a quantised model is wrong silently. Processors without VNNI may do so.
 */
import { Graph } from "../tensor/Graph.ts";
import { BLOCK, quantizedProduct } from "../tensor/Quantized.ts";
import { float32, Session } from "./Session.ts";

const WIDTH = 64;

/** Rows of ones times the largest codes: every pair of products is as large as it gets. */
const probe = async (): Promise<boolean> => {
  const graph = new Graph("probe");
  const codes = graph.constant(new Uint8Array(WIDTH * WIDTH).fill(255), "uint8", [WIDTH, WIDTH / BLOCK, BLOCK]);
  const scales = graph.constant(new Float32Array((WIDTH * WIDTH) / BLOCK).fill(1 / 127));
  graph.output("y", quantizedProduct(graph.input("x", "float32", ["rows", WIDTH]), { codes, scales }));
  await using session = await Session.open(graph.toModel());
  using outputs = await session.run({ x: float32(new Float32Array(8 * WIDTH).fill(1), [8, WIDTH]) });
  return outputs.float32("y").every((value) => Math.abs(value - WIDTH) < 1e-3 * WIDTH);
};

let isExact: Promise<boolean> | undefined;

/** Resolves to the result of the probe, which runs once per thread. */
export const hasExactInt8 = (): Promise<boolean> => {
  isExact ??= probe();
  return isExact;
};

/** The message for a CPU whose products are not exact. */
export const INEXACT_INT8 =
  "this CPU has no exact products of 8-bit numbers (AVX-512 VNNI, AVX-VNNI or ARM's dot products)";
