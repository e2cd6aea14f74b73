/**
 * Generation as three models over one set of weights: `prefillModel` starts rows, `extendModel` appends several tokens, `stepModel`
 * one.
 * Caches are inputs [batch, kvHeads, capacity, headDim] per layer. Outputs are each row's last logits and the new keys and values,
 * which the caller writes into its cache.
 * Invariants: cache entries beyond a row's length do not affect results, but must be finite. A row's bits depend neither on other rows nor
 * on the capacity (a multiple of 32), if a step whose weights are inputs has two rows or more.
 */

import { causalAttention } from "../tensor/Attention.ts";
import { add, less, lessOrEqual, minimum, mul, sub, where } from "../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../tensor/Graph.ts";
import { cachePlaces, elementsAt, gather, iota, writeRows } from "../tensor/Indexing.ts";
import { concat, reduceSum, reshape, slice } from "../tensor/Layout.ts";
import { matmul } from "../tensor/Linear.ts";
import type { OnnxModel } from "../tensor/Onnx.ts";
import { softmax } from "../tensor/Reduction.ts";
import { type Dim, product, type Shape, sizeOf, sum } from "../tensor/Shape.ts";
import type { DecoderConfig } from "./Architecture.ts";
import { type Attend, decoder, logits, mergeQueries, splitHeads, splitQueries } from "./Decoder.ts";
import { policyInputs } from "./Lora.ts";
import type { NumberFormat } from "./NumberFormat.ts";

/** Names of a layer's cache inputs and outputs. */
export const pastKeys = (layer: number): string => `past.${layer}.keys`;
export const pastValues = (layer: number): string => `past.${layer}.values`;
export const newKeys = (layer: number): string => `new.${layer}.keys`;
export const newValues = (layer: number): string => `new.${layer}.values`;

const MASKED = -1e30;

interface Cache {
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** Caches [batch, kvHeads, ...rows, headDim]. */
const cacheInputs = (graph: Graph, config: DecoderConfig, rows: Shape): readonly Cache[] =>
  Array.from({ length: config.layers }, (_, layer) => {
    const shape = ["batch", config.kvHeads, ...rows, config.headDim];
    return {
      keys: graph.input(pastKeys(layer), "float32", shape),
      values: graph.input(pastValues(layer), "float32", shape),
    };
  });

/**
 * Column `lengths - 1` of each batch row as an index into batch * time, and the first of them once more, int64 [batch + 1]. Two rows at
 * least keep the bits of a product the same for a batch of one.
 */
const lastTokens = (lengths: Tensor, time: Dim): Tensor => {
  const { graph } = lengths;
  const first = mul(iota(graph, sizeOf(lengths.shape, 0)), reshape(graph.size(time), []));
  const last = sub(add(first, lengths), 1);
  return concat([last, slice(last, 0, 0, 1)], 0);
};

const flat = (x: Tensor): Tensor => reshape(x, [product("batch", "time")]);

const cacheOf = (caches: readonly Cache[], layer: number): Cache => {
  const cache = caches[layer];
  if (cache === undefined) throw new RangeError(`there is no layer ${layer}`);
  return cache;
};

const outputCache = (graph: Graph, layer: number, keys: Tensor, values: Tensor): void => {
  graph.output(newKeys(layer), keys);
  graph.output(newValues(layer), values);
};

/** Inputs: weights, ids int64 [batch, time] right padded, lengths int64 [batch]. Outputs: logits [batch, vocab], new caches. */
export const prefillModel = (config: DecoderConfig, format: NumberFormat = "float32"): OnnxModel => {
  const graph = new Graph("prefill");
  const weights = policyInputs(graph, config, format);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const lengths = graph.input("lengths", "int64", ["batch"]);
  const attend: Attend = (projections) => {
    const keys = splitHeads(config, projections.keys);
    const values = splitHeads(config, projections.values);
    outputCache(graph, projections.layer, keys, values);
    return mergeQueries(config, causalAttention(splitQueries(config, projections.queries), keys, values));
  };
  const positions = graph.constant([0], "int64");
  const hidden = decoder(config, weights, ids, positions, attend, lastTokens(lengths, "time"));
  graph.output("logits", slice(logits(weights, hidden), 0, 0, "batch"));
  return graph.toModel();
};

/**
 * Inputs: weights, ids int64 [batch, time] right padded, lengths int64 [batch] (valid new tokens, 1 or more), pastLengths
 * int64 [batch], caches with pastLengths + time <= capacity. `valid` int64 [tokens] has the valid tokens' indices into batch * time, `ranks`
 * int64 [batch, time] each position's index into `valid`. Outputs: logits [batch, vocab], new caches [.., time, ..]. Only attention computes
 * padding.
 */
export const extendModel = (config: DecoderConfig, format: NumberFormat = "float32"): OnnxModel => {
  const graph = new Graph("extend");
  const weights = policyInputs(graph, config, format);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const lengths = graph.input("lengths", "int64", ["batch"]);
  const pastLengths = graph.input("pastLengths", "int64", ["batch"]);
  const valid = graph.input("valid", "int64", ["tokens"]);
  const ranks = graph.input("ranks", "int64", ["batch", "time"]);
  const caches = cacheInputs(graph, config, ["capacity"]);
  const columns = add(reshape(pastLengths, ["batch", 1]), iota(graph, "time"));
  const visible = lessOrEqual(iota(graph, "capacity"), reshape(columns, ["batch", 1, 1, "time", 1]));
  const mask = where(visible, graph.constant(0), graph.constant(MASKED));
  const groups = config.heads / config.kvHeads;
  const { kvHeads, headDim } = config;
  const places = cachePlaces(pastLengths, kvHeads, "time");
  /** [tokens, 1, width] to [batch, time, width]; padding repeats a token. */
  const pad = (x: Tensor): Tensor => gather(reshape(x, ["tokens", -1]), ranks);
  const attend: Attend = ({ layer, ...projections }) => {
    const newK = splitHeads(config, pad(projections.keys));
    const newV = splitHeads(config, pad(projections.values));
    outputCache(graph, layer, newK, newV);
    const cache = cacheOf(caches, layer);
    const keys = writeRows(cache.keys, newK, places);
    const values = writeRows(cache.values, newV, places);
    const rows = product(groups, "time");
    const queries = reshape(splitQueries(config, pad(projections.queries)), ["batch", kvHeads, rows, headDim]);
    const scores = matmul(queries, keys, { transB: true, scale: headDim ** -0.5 });
    const spread = ["batch", kvHeads, groups, "time", "capacity"];
    const attention = softmax(add(reshape(scores, spread), mask));
    const mixed = matmul(reshape(attention, ["batch", kvHeads, rows, "capacity"]), values);
    return gather(mergeQueries(config, reshape(mixed, ["batch", kvHeads, groups, "time", headDim])), valid);
  };
  /** [batch, time] to [tokens, 1]: the runtime rotates no more tokens in a row than there are positions. */
  const unpad = (x: Tensor): Tensor => reshape(elementsAt(flat(x), valid), ["tokens", 1]);
  // padding may run past the rotary tables
  const positions = minimum(unpad(columns), config.maxPositions - 1);
  const last = elementsAt(flat(ranks), lastTokens(lengths, "time"));
  const hidden = decoder(config, weights, unpad(ids), positions, attend, last);
  graph.output("logits", slice(logits(weights, hidden), 0, 0, "batch"));
  return graph.toModel();
};

/**
 * Inputs: weights, ids int64 [batch], pastLengths int64 [batch], caches [batch, kvHeads, 1, capacity, headDim] with pastLengths < capacity.
 * Outputs: logits [batch, vocab], new caches [batch, kvHeads, 1, 1, headDim]. The new token's score stands behind those of the cache, whose
 * rows are therefore never copied. At a batch of one the runtime's work for each node counts, so heads have this form from the start.
 */
export const stepModel = (config: DecoderConfig, format: NumberFormat = "float32"): OnnxModel => {
  const graph = new Graph("step");
  const weights = policyInputs(graph, config, format);
  const ids = graph.input("ids", "int64", ["batch"]);
  const pastLengths = graph.input("pastLengths", "int64", ["batch"]);
  const caches = cacheInputs(graph, config, [1, "capacity"]);
  const { kvHeads, headDim } = config;
  const groups = config.heads / kvHeads;
  // A product of one row takes no factor in place; as a vector, the runtime does not turn it into one.
  const scales = graph.constant(new Array<number>(headDim).fill(headDim ** -0.5));
  const isPast = less(iota(graph, "capacity"), reshape(pastLengths, ["batch", 1, 1, 1, 1]));
  const mask = where(isPast, graph.constant(0), graph.constant(MASKED));
  // Heads as [kv head, group, one row]: a product of one row reads the cache in place, more rows would pack it first.
  const queryRows = ["batch", kvHeads, groups, 1, headDim];
  const ownRow = ["batch", kvHeads, 1, 1, headDim];
  const attend: Attend = ({ layer, ...projections }) => {
    const queries = mul(reshape(projections.queries, queryRows), scales);
    const keys = reshape(projections.keys, ownRow);
    const values = reshape(projections.values, ownRow);
    outputCache(graph, layer, keys, values);
    const cache = cacheOf(caches, layer);
    const pastScores = add(matmul(queries, cache.keys, { transB: true }), mask);
    const ownScore = reduceSum(mul(queries, keys), [-1], true);
    const attention = softmax(concat([pastScores, ownScore], 4));
    const pastShares = slice(attention, 4, 0, "capacity");
    const ownShare = slice(attention, 4, "capacity", sum("capacity", 1));
    const mixed = add(matmul(pastShares, cache.values), mul(ownShare, values));
    return reshape(mixed, ["batch", config.heads * headDim]);
  };
  const hidden = decoder(config, weights, reshape(ids, ["batch", 1]), reshape(pastLengths, ["batch", 1]), attend);
  graph.output("logits", logits(weights, hidden));
  return graph.toModel();
};
