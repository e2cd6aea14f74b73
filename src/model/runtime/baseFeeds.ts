/**
 * Weights as session inputs: views over memory, not copies. The frozen weights beside an adapter lie in memory that all threads of the process
 * share, where the runtime can read such memory; else each thread holds a copy.
 */

import { scaleOf } from "../graphs/Adapter.ts";
import type { DecoderConfig } from "../graphs/Architecture.ts";
import { ADAPTER_SCALE } from "../graphs/Lora.ts";
import {
  type CodedMatrix,
  codedSpecs,
  codesOf,
  encodeMatrices,
  type NumberFormat,
  scalesOf,
  uncodedParameters,
} from "../graphs/NumberFormat.ts";
import type { FrozenParameters } from "../graphs/Parameters.ts";
import { add } from "../tensor/Elementwise.ts";
import { Graph } from "../tensor/Graph.ts";
import { BLOCK, blocksOf } from "../tensor/Quantized.ts";
import { type Feeds, float32, Session, uint8 } from "./Session.ts";

/** The base beside an adapter: weights that nobody changes, and the adapter's factor. Structured-cloneable. */
export interface Base {
  readonly frozen: FrozenParameters;
  /** Matrices in 8-bit codes, if they are read in that format. */
  readonly coded?: readonly CodedMatrix[];
  /** alpha / rank; 0 switches the adapter off. */
  readonly scale: number;
}

/** Returns the base beside a model's adapter, undefined without one. */
export const baseOf = ({ adapter }: DecoderConfig, { specs, tensors }: FrozenParameters): Base | undefined =>
  adapter && { frozen: { specs, tensors }, scale: scaleOf(adapter) };

/** A base whose matrices are read in a number format, made once in memory that all threads share. */
export const baseInFormat = (format: NumberFormat, config: DecoderConfig, base: Base): Base => {
  const coded = codedSpecs(format, config);
  if (coded.length === 0) return base;
  const shared = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(bytes);
  return { ...base, frozen: uncodedParameters(coded, base.frozen), coded: encodeMatrices(coded, base.frozen, shared) };
};

export const viewFeeds = ({ specs, tensors }: FrozenParameters): Feeds =>
  Object.fromEntries(specs.map(({ name, shape }, i) => [name, float32(tensors[i]!, shape)]));

/** The factor on what an adapter adds. */
export const factorFeed = (scale: number) => float32(Float32Array.of(scale), []);

/** Codes and scales of matrices by the names of their inputs. */
export const codedFeeds = (coded: readonly CodedMatrix[]): Feeds =>
  Object.fromEntries(
    coded.flatMap(({ codes, name, scales, shape: [out, width] }) => [
      [codesOf(name), uint8(codes, [out, blocksOf(width), BLOCK])],
      [scalesOf(name), float32(scales, [scales.length])],
    ]),
  );

export const baseFeeds = ({ coded = [], frozen, scale }: Base): Feeds => ({
  ...viewFeeds(frozen),
  ...codedFeeds(coded),
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

let canReadShared: Promise<boolean> | undefined;

/** Resolves to true if the runtime reads inputs in shared memory, which needs Node's support: 24.21 has it, 20 does not. */
export const readsSharedMemory = (): Promise<boolean> => {
  canReadShared ??= probe();
  return canReadShared;
};

/** The same weights in memory that this thread's sessions can read. */
export const readableBase = async (base: Base): Promise<Base> => {
  const { coded = [], frozen } = base;
  const isShared = frozen.tensors.some(({ buffer }) => buffer instanceof SharedArrayBuffer);
  if (!isShared || (await readsSharedMemory())) return base;
  const copied = coded.map((each) => ({ ...each, codes: each.codes.slice(), scales: each.scales.slice() }));
  return { ...base, coded: copied, frozen: { ...frozen, tensors: frozen.tensors.map((tensor) => tensor.slice()) } };
};
