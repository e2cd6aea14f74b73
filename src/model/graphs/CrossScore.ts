/**
 * The decoder over one prompt and several continuations of it in a row, forward only. The prompt is computed once.
 * Each continuation sees the prompt and itself, at the positions that follow the prompt, so its log-probabilities are those behind the
 * prompt alone.
 */

import { blockEnds, MASKED } from "../tensor/Attention.ts";
import { add, and, div, equals, lessOrEqual, or, where } from "../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../tensor/Graph.ts";
import { iota, takeAlong } from "../tensor/Indexing.ts";
import { concat, reshape, slice } from "../tensor/Layout.ts";
import { matmul } from "../tensor/Linear.ts";
import type { OnnxModel } from "../tensor/Onnx.ts";
import { logSoftmax, softmax } from "../tensor/Reduction.ts";
import { type Dim, difference, product, sizeOf } from "../tensor/Shape.ts";
import type { DecoderConfig } from "./Architecture.ts";
import { type Attend, decoder, logits, mergeQueries, splitHeads, splitQueries } from "./Decoder.ts";
import { policyInputs } from "./Lora.ts";

/** Blocks of rows, each against the columns up to its end only: a quarter of the scores at once, and little more than half of them in all. */
const BLOCKS = 4;

/** For the rows `start` to `end`, [1, 1, 1, rows, end]: 0 where a column is not after the row and is of segment 0 or the row's own. */
const segmentMask = (segments: Tensor, start: Dim, end: Dim): Tensor => {
  const { graph } = segments;
  const rows = difference(end, start);
  const across = (x: Tensor): Tensor => reshape(slice(x, 0, 0, end), [1, end]);
  const down = (x: Tensor): Tensor => reshape(slice(x, 0, start, end), [rows, 1]);
  const position = iota(graph, sizeOf(segments.shape, 0));
  const before = lessOrEqual(across(position), down(position));
  const shared = equals(across(segments), graph.constant(0, "int64"));
  const visible = and(before, or(equals(across(segments), down(segments)), shared));
  return reshape(where(visible, graph.constant(0), graph.constant(MASKED)), [1, 1, 1, rows, end]);
};

const attendWithin =
  (config: DecoderConfig, segments: Tensor): Attend =>
  (projections) => {
    const q = splitQueries(config, projections.queries);
    const [k, v] = [splitHeads(config, projections.keys), splitHeads(config, projections.values)];
    const [batch, kvHeads, groups, time, width] = q.shape as [Dim, Dim, Dim, Dim, Dim];
    const parts = blockEnds(q.graph, time, BLOCKS).map((end, block, ends) => {
      const start = ends[block - 1] ?? 0;
      const length = difference(end, start);
      const rows = product(groups, length);
      const queries = reshape(slice(q, 3, start, end), [batch, kvHeads, rows, width]);
      const scores = matmul(queries, slice(k, 2, 0, end), { transB: true, scale: 1 / Math.sqrt(config.headDim) });
      const maskedScores = add(
        reshape(scores, [batch, kvHeads, groups, length, end]),
        segmentMask(segments, start, end),
      );
      const weights = reshape(softmax(maskedScores), [batch, kvHeads, rows, end]);
      return reshape(matmul(weights, slice(v, 2, 0, end)), [batch, kvHeads, groups, length, width]);
    });
    return mergeQueries(config, concat(parts, 3));
  };

/**
 * Inputs: weights; ids and positions int64 [1, time]; segments int64 [time], 0 in the prompt; before and tokens int64 [targets];
 * temperature [].
 * `before` is the index that predicts a target, `tokens` its id. Output: logp [targets], nats.
 */
export const crossScoreModel = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("crossScore");
  const weights = policyInputs(graph, config);
  const ids = graph.input("ids", "int64", [1, "time"]);
  const positions = graph.input("positions", "int64", [1, "time"]);
  const segments = graph.input("segments", "int64", ["time"]);
  const before = graph.input("before", "int64", ["targets"]);
  const tokens = graph.input("tokens", "int64", ["targets"]);
  const temperature = graph.input("temperature", "float32", []);
  const hidden = decoder(config, weights, ids, positions, attendWithin(config, segments), before);
  graph.output("logp", takeAlong(logSoftmax(logits(weights, div(hidden, temperature))), tokens));
  return graph.toModel();
};
