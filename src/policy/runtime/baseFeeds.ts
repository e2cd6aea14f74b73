/**
 * Weights as session inputs: views over memory, not copies. The frozen weights beside an adapter lie in memory that all threads of the process
 * share, where the runtime can read such memory; else each thread holds a copy.
 */
import { add } from "../../tensor/Elementwise.ts";
import { Graph } from "../../tensor/Graph.ts";
import { scaleOf } from "../model/Adapter.ts";
import type { DecoderConfig } from "../model/Architecture.ts";
import { ADAPTER_SCALE } from "../model/Lora.ts";
import type { Frozen } from "../model/Parameters.ts";
import { type Feeds, float32, Session } from "./Session.ts";

/** What an adapter stands beside: weights that nobody changes, and the factor on what it adds. Structured-cloneable. */
export interface Base {
  readonly frozen: Frozen;
  /** alpha / rank; 0 switches the adapter off. */
  readonly scale: number;
}

/** What a model's adapter stands beside; undefined where it has none. */
export const baseOf = ({ adapter }: DecoderConfig, { specs, tensors }: Frozen): Base | undefined =>
  adapter && { frozen: { specs, tensors }, scale: scaleOf(adapter) };

export const viewFeeds = ({ specs, tensors }: Frozen): Feeds =>
  Object.fromEntries(specs.map(({ name, shape }, i) => [name, float32(tensors[i]!, shape)]));

/** The factor on what an adapter adds. */
export const factorFeed = (scale: number) => float32(Float32Array.of(scale), []);

export const baseFeeds = ({ frozen, scale }: Base): Feeds => ({
  ...viewFeeds(frozen),
  [ADAPTER_SCALE]: factorFeed(scale),
});

const probe = async (): Promise<boolean> => {
  const graph = new Graph("probe");
  graph.output("sum", add(graph.input("x", "float32", [1]), 1));
  await using session = await Session.open(graph.toModel());
  try {
    using outputs = await session.run({ x: float32(new Float32Array(new SharedArrayBuffer(4)), [1]) });
    return outputs.float32("sum")[0] === 1;
  } catch {
    return false;
  }
};

let known: Promise<boolean> | undefined;

/** Whether the runtime reads inputs in shared memory. Node's native interface has to: 24.21 does, 20 does not. */
export const readsShared = (): Promise<boolean> => {
  known ??= probe();
  return known;
};

/** The same weights in memory that this thread's sessions can read. */
export const readable = async (base: Base): Promise<Base> => {
  const isShared = base.frozen.tensors.some(({ buffer }) => buffer instanceof SharedArrayBuffer);
  if (!isShared || (await readsShared())) return base;
  return { ...base, frozen: { ...base.frozen, tensors: base.frozen.tensors.map((tensor) => tensor.slice()) } };
};
