/**
 * Generation on a device that keeps the caches: `decodeModel` appends a token to every row, `feedModel` several to some rows,
 * `arrangeModel` copies rows.
 * A step samples, returns the whole cache for the next run, and downloads only the draws [rows, DRAW_WIDTH]. `inFloat16` rewrites each
 * model.
 * Invariant: cache entries beyond a row's length do not affect results, but must be finite.
 */
import { deviceForm } from "../tensor/DeviceForm.ts";
import { add, and, cast, equals, less, lessOrEqual, minimum, mul, sub, where } from "../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../tensor/Graph.ts";
import { halfForm } from "../tensor/HalfForm.ts";
import { gather, iota } from "../tensor/Indexing.ts";
import { concat, reshape } from "../tensor/Layout.ts";
import { matmul } from "../tensor/Linear.ts";
import type { OnnxModel } from "../tensor/Onnx.ts";
import { softmax } from "../tensor/Reduction.ts";
import { type Dim, product } from "../tensor/Shape.ts";
import { type DecoderConfig, type ParameterSpec, parameters } from "./Architecture.ts";
import { newKeys, newValues, pastKeys, pastValues } from "./Decode.ts";
import { type Attend, decoder, logits, mergeQueries, splitHeads, splitQueries } from "./Decoder.ts";
import { draw } from "./Draw.ts";
import { policyInputs } from "./Lora.ts";

const MASKED = -1e30;

/** Names of a model's cache inputs and of the outputs that take their places, in one order. */
export const cacheInputNames = ({ layers }: DecoderConfig): readonly string[] =>
  Array.from({ length: layers }, (_, layer) => [pastKeys(layer), pastValues(layer)]).flat();
export const cacheOutputNames = ({ layers }: DecoderConfig): readonly string[] =>
  Array.from({ length: layers }, (_, layer) => [newKeys(layer), newValues(layer)]).flat();
/** The second cache that `arrangeModel` copies from. */
export const otherName = (name: string): string => `other.${name}`;

const drawInputs = (graph: Graph, rows: Dim) => ({
  scale: graph.input("scale", "float32", [rows]),
  greedy: graph.input("greedy", "float32", [rows]),
  uniform: graph.input("uniform", "float32", [rows]),
});

/** Writes new keys or values [rows, kvHeads, time, headDim] into a cache [rows, kvHeads, capacity, headDim]. */
type Write = (old: Tensor, fresh: Tensor) => Tensor;

/** Attends from new tokens over a cache that they are written into; `onCache` receives every layer's new cache. */
const attendCached = (
  config: DecoderConfig,
  before: ReadonlyMap<string, Tensor>,
  write: Write,
  mask: Tensor,
  onCache: (name: string, cache: Tensor) => void,
): Attend => {
  const { headDim, heads, kvHeads } = config;
  const groups = heads / kvHeads;
  return ({ layer, ...projections }) => {
    const written = (from: string, to: string, fresh: Tensor): Tensor => {
      const cache = write(before.get(from)!, splitHeads(config, fresh));
      onCache(to, cache);
      return cache;
    };
    const keys = written(pastKeys(layer), newKeys(layer), projections.keys);
    const values = written(pastValues(layer), newValues(layer), projections.values);
    const [batch, time] = projections.queries.shape as [Dim, Dim];
    const rows = product(groups, time);
    const queries = reshape(splitQueries(config, projections.queries), [batch, kvHeads, rows, headDim]);
    const scores = matmul(queries, keys, { transB: true, scale: headDim ** -0.5 });
    const attention = softmax(add(reshape(scores, [batch, kvHeads, groups, time, "capacity"]), mask));
    const mixed = matmul(reshape(attention, [batch, kvHeads, rows, "capacity"]), values);
    return mergeQueries(config, reshape(mixed, [batch, kvHeads, groups, time, headDim]));
  };
};

const cacheInputs = (graph: Graph, config: DecoderConfig, rows: string): ReadonlyMap<string, Tensor> =>
  new Map(
    cacheInputNames(config).map((name) => [
      name,
      graph.input(name, "float32", [rows, config.kvHeads, "capacity", config.headDim]),
    ]),
  );

/** 0 at the positions up to each new token's own, `columns` int64 [rows, time]; else a number that the softmax turns to 0. */
const causalMask = (graph: Graph, columns: Tensor, rows: Dim, time: Dim): Tensor => {
  const visible = lessOrEqual(iota(graph, "capacity"), reshape(columns, [rows, 1, 1, time, 1]));
  return where(visible, graph.constant(0), graph.constant(MASKED));
};

/**
 * Inputs: weights, ids int64 [rows], pastLengths int64 [rows] (the capacity or more for a row that takes no token), scale, greedy and
 * uniform float32 [rows], caches [rows, kvHeads, capacity, headDim]. Outputs: drawn [rows, DRAWN], logits [rows, vocab], new caches.
 */
export const decodeModel = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("decode");
  const weights = policyInputs(graph, config);
  const ids = graph.input("ids", "int64", ["rows"]);
  const pastLengths = graph.input("pastLengths", "int64", ["rows"]);
  const inputs = drawInputs(graph, "rows");
  const before = cacheInputs(graph, config, "rows");
  const columns = reshape(pastLengths, ["rows", 1]);
  const isOwnPosition = equals(
    reshape(iota(graph, "capacity"), ["capacity", 1]),
    reshape(pastLengths, ["rows", 1, 1, 1]),
  );
  const attend = attendCached(
    config,
    before,
    (old, fresh) => where(isOwnPosition, fresh, old),
    causalMask(graph, columns, "rows", 1),
    (name, cache) => graph.output(name, cache),
  );
  const positions = minimum(columns, config.maxPositions - 1);
  const scores = logits(weights, decoder(config, weights, reshape(ids, ["rows", 1]), positions, attend));
  graph.output("drawn", draw(scores, inputs));
  graph.output("logits", scores);
  return graph.toModel();
};

/** True for the parameters that a float16 generator holds in float16: the model's matrices, not norms, biases or an adapter. */
export const isFloat16Parameter = (config: DecoderConfig): ((spec: ParameterSpec) => boolean) => {
  const matrices = parameters(config).filter(({ shape }) => shape.length === 2);
  const names = new Set(matrices.map(({ name }) => name));
  return ({ name }) => names.has(name);
};

/** One of the three models with matrices and caches in float16: logits, what is drawn and everything between two products stay float32. */
export const inFloat16 = (config: DecoderConfig, model: OnnxModel): OnnxModel => {
  const caches = [...cacheInputNames(config), ...cacheInputNames(config).map(otherName), ...cacheOutputNames(config)];
  const matrices = parameters(config).filter(isFloat16Parameter(config));
  return halfForm(deviceForm(model), [...matrices.map(({ name }) => name), ...caches]);
};

/** Rows of x [rows, ...] by index, [indices, ...]. */
const rowsOf = (x: Tensor, indices: Tensor, count: Dim): Tensor => {
  const [rows, ...rest] = x.shape as [Dim, ...Dim[]];
  return reshape(gather(reshape(x, [rows, product(...rest)]), indices), [count, ...rest]);
};

/**
 * Inputs: weights; ids int64 [fed, time], right padded; lengths, pastLengths and from int64 [fed]; back int64 [rows]; scale, greedy
 * and uniform float32 [fed]; caches with pastLengths + lengths <= capacity.
 * `from` is each fed row's row of the cache. `back` gives the source of each new row: an index below `rows` is an old row, the others
 * are fed rows.
 * Outputs: drawn [fed, DRAW_WIDTH], logits [fed, vocab], new caches.
 */
export const feedModel = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("feed");
  const weights = policyInputs(graph, config);
  const ids = graph.input("ids", "int64", ["fed", "time"]);
  const lengths = graph.input("lengths", "int64", ["fed"]);
  const pastLengths = graph.input("pastLengths", "int64", ["fed"]);
  const from = graph.input("from", "int64", ["fed"]);
  const back = graph.input("back", "int64", ["rows"]);
  const inputs = drawInputs(graph, "fed");
  const pool = cacheInputs(graph, config, "rows");
  const before = new Map([...pool].map(([name, cache]) => [name, rowsOf(cache, from, "fed")]));
  const columns = add(reshape(pastLengths, ["fed", 1]), iota(graph, "time"));
  // [fed, 1, capacity, time]: 1 where a position takes a new token
  const offset = sub(reshape(iota(graph, "capacity"), ["capacity", 1]), reshape(pastLengths, ["fed", 1, 1, 1]));
  const placed = cast(equals(offset, iota(graph, "time")), "float32");
  // [fed, 1, capacity, 1]: whether it takes one
  const takesToken = and(less(-1, offset), less(offset, reshape(lengths, ["fed", 1, 1, 1])));
  const write: Write = (old, fresh) => where(takesToken, matmul(placed, fresh), old);
  const attend = attendCached(config, before, write, causalMask(graph, columns, "fed", "time"), (name, cache) => {
    const old = pool.get(cacheInputNames(config)[cacheOutputNames(config).indexOf(name)]!)!;
    graph.output(name, rowsOf(concat([old, cache], 0), back, "rows"));
  });
  const positions = minimum(columns, config.maxPositions - 1);
  const first = mul(iota(graph, "fed"), reshape(graph.size("time"), []));
  const hidden = decoder(config, weights, ids, positions, attend, sub(add(first, lengths), 1));
  const scores = logits(weights, hidden);
  graph.output("drawn", draw(scores, inputs));
  graph.output("logits", scores);
  return graph.toModel();
};

/**
 * Inputs: two caches of one capacity, [rows, ...] and [others, ...] (`otherName`), rows int64 [out] (below `rows` the first cache, then the
 * second) and positions int64 [grown]. Outputs: the caches of those rows and positions, [out, kvHeads, grown, headDim].
 */
export const arrangeModel = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("arrange");
  const { headDim, kvHeads } = config;
  const rows = graph.input("rows", "int64", ["out"]);
  const positions = graph.input("positions", "int64", ["grown"]);
  const names = cacheOutputNames(config);
  for (const [i, name] of cacheInputNames(config).entries()) {
    const one = graph.input(name, "float32", ["pool", kvHeads, "capacity", headDim]);
    const other = graph.input(otherName(name), "float32", ["others", kvHeads, "capacity", headDim]);
    const arranged = rowsOf(concat([one, other], 0), rows, "out");
    const atPositions = graph.result({
      type: "Gather",
      inputs: [arranged, positions],
      attributes: { axis: { int: 2 } },
      outputs: [{ dtype: "float32", shape: ["out", kvHeads, "grown", headDim] }],
    });
    graph.output(names[i]!, atPositions);
  }
  return graph.toModel();
};
