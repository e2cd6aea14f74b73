/**
 * The unit of a run's CPU figures: how fast this machine multiplies two 1024 x 1024 float32 matrices through onnxruntime, now, with
 * one and with two threads. Figures quote ratios to it, so that they compare across machines and loads.
 */

import { float32, Session } from "../src/model/runtime/Session.ts";
import { Graph } from "../src/model/tensor/Graph.ts";
import { gemm } from "../src/model/tensor/Linear.ts";
import type { OnnxModel } from "../src/model/tensor/Onnx.ts";
import { repeat, type Samples, samplesOf } from "./samples.ts";

export const SIZE = 1024;
const FLOPS = 2 * SIZE ** 3;

/** GFLOP/s of every multiplication, by threads. */
export interface GemmTimes {
  readonly one: readonly number[];
  readonly two: readonly number[];
}

export interface GemmUnit {
  /** GFLOP/s with one and with two intra-op threads. */
  readonly one: Samples;
  readonly two: Samples;
}

const model = (): OnnxModel => {
  const graph = new Graph("gemm");
  const left = graph.input("left", "float32", [SIZE, SIZE]);
  const right = graph.input("right", "float32", [SIZE, SIZE]);
  graph.output("product", gemm(left, right));
  return graph.toModel();
};

const timed = async (threads: number): Promise<readonly number[]> => {
  await using session = await Session.open(model(), { threads });
  const matrix = (phase: number) =>
    float32(
      Float32Array.from({ length: SIZE * SIZE }, (_, i) => Math.sin(i + phase)),
      [SIZE, SIZE],
    );
  const feeds = { left: matrix(0), right: matrix(1) };
  const times = await repeat({ iterations: 12, warmup: 4 }, async () => void (await session.run(feeds)));
  return times.map((ms) => FLOPS / ms / 1e6);
};

export const timeGemm = async (): Promise<GemmTimes> => ({ one: await timed(1), two: await timed(2) });

/** The unit from multiplications timed around a measurement. */
export const unitOf = (times: readonly GemmTimes[]): GemmUnit => ({
  one: samplesOf(times.flatMap(({ one }) => one)),
  two: samplesOf(times.flatMap(({ two }) => two)),
});
