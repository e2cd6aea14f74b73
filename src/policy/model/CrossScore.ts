/**
 * The decoder over one prompt and several continuations of it in a row: each continuation sees the prompt and itself, at the positions
 * that follow the prompt, so that its log-probabilities are those behind the prompt alone, and the prompt is computed once for all of them.
 * Forward only.
 */
import { add, and, div, equals, lessOrEqual, or, where } from "../../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../tensor/Graph.ts";
import { iota, takeAlong } from "../../tensor/Indexing.ts";
import { reshape } from "../../tensor/Layout.ts";
import { matmul } from "../../tensor/Linear.ts";
import { logSoftmax, softmax } from "../../tensor/Reduction.ts";
import { type Dim, product } from "../../tensor/Shape.ts";
import { parameters, type Qwen2Config } from "./Architecture.ts";
import { type Attend, decoder, logits, mergeQueries, splitHeads, splitQueries, weightInputs } from "./Qwen2.ts";

/** Added to a score to take it out of the softmax; finite, so that no row turns to NaN. */
const MASKED = -1e30;

/** [1, 1, 1, time, time]: 0 where a column is not after the row and belongs to segment 0 or to the row's own. */
const segmentMask = (segments: Tensor, time: Dim): Tensor => {
  const { graph } = segments;
  const position = iota(graph, time);
  const across = (x: Tensor): Tensor => reshape(x, [1, time]);
  const down = (x: Tensor): Tensor => reshape(x, [time, 1]);
  const before = lessOrEqual(across(position), down(position));
  const shared = equals(across(segments), graph.constant(0, "int64"));
  const visible = and(before, or(equals(across(segments), down(segments)), shared));
  return reshape(where(visible, graph.constant(0), graph.constant(MASKED)), [1, 1, 1, time, time]);
};

const attendWithin =
  (config: Qwen2Config, mask: Tensor): Attend =>
  ({ keys, queries, values }) => {
    const q = splitQueries(config, queries);
    const [batch, kvHeads, groups, time, width] = q.shape as [Dim, Dim, Dim, Dim, Dim];
    const rows = product(groups, time);
    const scores = matmul(reshape(q, [batch, kvHeads, rows, width]), splitHeads(config, keys), {
      transB: true,
      scale: 1 / Math.sqrt(config.headDim),
    });
    const weights = softmax(add(reshape(scores, [batch, kvHeads, groups, time, time]), mask));
    const mixed = matmul(reshape(weights, [batch, kvHeads, rows, time]), splitHeads(config, values));
    return mergeQueries(config, reshape(mixed, q.shape));
  };

/**
 * Model: weights; ids, positions and segments int64 [1, time], [1, time], [time], the prompt being segment 0; before and tokens int64
 * [targets], where a target is predicted from and which id it is; temperature []. Output: logp [targets], nats.
 */
export const crossScoreModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("crossScore");
  const weights = weightInputs(graph, parameters(config));
  const ids = graph.input("ids", "int64", [1, "time"]);
  const positions = graph.input("positions", "int64", [1, "time"]);
  const segments = graph.input("segments", "int64", ["time"]);
  const before = graph.input("before", "int64", ["targets"]);
  const tokens = graph.input("tokens", "int64", ["targets"]);
  const temperature = graph.input("temperature", "float32", []);
  const hidden = decoder(config, weights, ids, positions, attendWithin(config, segmentMask(segments, "time")), before);
  graph.output("logp", takeAlong(logSoftmax(logits(weights, div(hidden, temperature))), tokens));
  return graph.toOnnx();
};
