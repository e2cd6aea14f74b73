/**
 * Attention with grouped queries: causal over whole sequences, and of continuations to the prompt that they share and to themselves. Both are
 * made of parts, each of which takes queries to one set of keys.
 */
import { add, div, less, lessOrEqual, log, mul, sigmoid, sub, where } from "./Elementwise.ts";
import type { Graph, Tensor } from "./Graph.ts";
import { iota } from "./Indexing.ts";
import { concat, pad, reduceSum, reshape, slice, transpose } from "./Layout.ts";
import { matmul } from "./Linear.ts";
import { reduceMax, softmax } from "./Reduction.ts";
import { type Dim, difference, equal, product, ShapeError } from "./Shape.ts";

/** Added to a score to take it out of the softmax; finite, so that no row turns to NaN. */
export const MASKED = -1e30;

const visibleOrMasked = (visible: Tensor): Tensor =>
  where(visible, visible.graph.constant(0), visible.graph.constant(MASKED));

/** [rows, columns] for the rows that start at `start`: 0 up to the diagonal, else a number the softmax turns to 0. */
const causalMask = (graph: Graph, start: Dim, end: Dim): Tensor => {
  const position = iota(graph, end);
  const rows = slice(position, 0, start, end);
  return visibleOrMasked(lessOrEqual(reshape(position, [1, end]), reshape(rows, [difference(end, start), 1])));
};

/** The ends of `count` about equal blocks of a size, as sizes; symbols are bound for those that a polynomial cannot say. */
export const blockEnds = (graph: Graph, size: Dim, blocks: number): readonly Dim[] =>
  Array.from({ length: blocks }, (_, index) => {
    const part = index + 1;
    if (part === blocks) return size;
    if (typeof size === "number") return Math.floor((size * part) / blocks);
    const symbol = `${String(size).replace(/\W/g, "_")}_${part}of${blocks}`;
    graph.bind(symbol, div(mul(graph.size(size), part), blocks));
    return symbol;
  });

const rowSums = (x: Tensor): Tensor => reduceSum(x, [-1], true);

/** Queries against one set of keys. */
interface Part {
  /** Values mixed by the softmax over these keys alone, [..., rows, headDim]. */
  readonly mixed: Tensor;
  /** Logarithm of the sum of the exponentials of the scores, [..., rows, 1]. */
  readonly normaliser: Tensor;
  /**
   * Gradients by queries, keys and values of a result in which `mixed` has some share: `pulled` is the result's gradient times that share, and
   * `correction` [..., rows, 1] the row sums of that times the result. These equal the softmax's row sums of (weights * dweights), and are far
   * narrower (Dao et al. 2022, appendix B.2).
   */
  readonly pull: (pulled: Tensor, correction: Tensor) => readonly [q: Tensor, k: Tensor, v: Tensor];
}

interface Scored {
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
  /** Of every query and key, masked. */
  readonly scores: Tensor;
  readonly scale: number;
}

/** Gradients of keys and values come out as [..., headDim, columns]. */
const partOf = ({ keys, queries, scale, scores, values }: Scored): Part => {
  const weights = softmax(scores);
  return {
    mixed: matmul(weights, values),
    // The largest weight is exp(the largest score) over that sum, and never near 0.
    normaliser: sub(reduceMax(scores, [-1], true), log(reduceMax(weights, [-1], true))),
    pull: (pulled, correction) => {
      const dscores = mul(weights, sub(matmul(pulled, values, { transB: true }), correction));
      // A transposed operand is copied in strips: let that be the narrow one.
      return [
        matmul(dscores, keys, { scale }),
        matmul(queries, dscores, { transA: true, scale }),
        matmul(pulled, weights, { transA: true }),
      ];
    },
  };
};

/** The keys' gradients [..., headDim, columns] of each block, which ends at its column, as one of [..., time, headDim]. */
const overColumns = (parts: readonly Tensor[], ends: readonly Dim[], time: Dim): Tensor => {
  const whole = parts.map((part, i) => pad(part, 3, 0, difference(time, ends[i] ?? time)));
  return transpose(
    whole.reduce((a, b) => add(a, b)),
    [0, 1, 3, 2],
  );
};

/**
 * q [batch, kvHeads, groups, time, headDim], k and v [batch, kvHeads, time, headDim]. The groups of a head are folded into its rows, so that both
 * products are plain stacks of matrices and the gradients of k and v need no sum over groups. The rows are taken in `blocks`, each against the
 * columns up to its end only, which leaves out nearly half of the masked products; a time below `blocks` is allowed.
 */
const causal = (q: Tensor, k: Tensor, v: Tensor, blocks: number): Part => {
  const { graph } = q;
  const [batch, kvHeads, groups, time, headDim] = q.shape as [Dim, Dim, Dim, Dim, number];
  const columns = [batch, kvHeads, time, headDim];
  if (q.shape.length !== 5 || !equal(k.shape, columns) || !equal(v.shape, columns))
    throw new ShapeError(
      "causalAttention",
      [q.shape, k.shape, v.shape],
      "k and v must be q without its axis of groups",
    );
  const scale = 1 / Math.sqrt(headDim);
  const ends = blockEnds(graph, time, blocks);
  const parts = ends.map((end, index) => {
    const start = ends[index - 1] ?? 0;
    const length = difference(end, start);
    const fold = (x: Tensor, width: Dim): Tensor => reshape(x, [batch, kvHeads, product(groups, length), width]);
    const unfold = (x: Tensor, width: Dim): Tensor => reshape(x, [batch, kvHeads, groups, length, width]);
    const rows = (x: Tensor, width: Dim): Tensor => fold(slice(x, 3, start, end), width);
    const [queries, keys, values] = [rows(q, headDim), slice(k, 2, 0, end), slice(v, 2, 0, end)];
    const seen = unfold(matmul(queries, keys, { transB: true, scale }), end);
    const scores = fold(add(seen, causalMask(graph, start, end)), end);
    return { rows, unfold, ...partOf({ queries, keys, values, scores, scale }) };
  });
  const joined = (each: (part: (typeof parts)[number]) => Tensor): Tensor => concat(parts.map(each), 3);
  return {
    mixed: joined(({ mixed, unfold }) => unfold(mixed, headDim)),
    normaliser: joined(({ normaliser, unfold }) => unfold(normaliser, 1)),
    pull: (pulled, correction) => {
      const pulls = parts.map(({ pull, rows, unfold }) => {
        const [dq, dk, dv] = pull(rows(pulled, headDim), rows(correction, 1));
        return { dq: unfold(dq, headDim), dk, dv };
      });
      return [
        concat(
          pulls.map(({ dq }) => dq),
          3,
        ),
        overColumns(
          pulls.map(({ dk }) => dk),
          ends,
          time,
        ),
        overColumns(
          pulls.map(({ dv }) => dv),
          ends,
          time,
        ),
      ];
    },
  };
};

/**
 * Causal attention: q [batch, kvHeads, groups, time, headDim], k and v [batch, kvHeads, time, headDim] give
 * [batch, kvHeads, groups, time, headDim]. `blocks`: in how many blocks of rows it is computed.
 */
export const causalAttention = (q: Tensor, k: Tensor, v: Tensor, blocks = 1): Tensor => {
  const { mixed, pull } = causal(q, k, v, blocks);
  return q.graph.aliasOf("causalAttention", [q, k, v], mixed, ([g]) =>
    g === undefined ? undefined : pull(g, rowSums(mul(g, mixed))),
  );
};

/** Continuations of prompts, position by position as a linear layer gives them: `groups` of prompts, each with `members` continuations. */
export interface Continuations {
  /** [groups, members, time, kvHeads, queryGroups, headDim] */
  readonly q: Tensor;
  /** [groups, members, time, kvHeads, headDim] */
  readonly k: Tensor;
  readonly v: Tensor;
}

/** The prompts that they continue. */
export interface Prompts {
  /** [groups, prompt, kvHeads, headDim] */
  readonly k: Tensor;
  readonly v: Tensor;
  /** Positions that each prompt has, at least 1, int64 [groups]; what lies behind them is padding. */
  readonly lengths: Tensor;
}

/**
 * Attention of continuations to their prompt and causally to themselves, [groups, members, time, kvHeads, queryGroups, headDim]: what causal
 * attention over prompt and continuation in a row gives at the continuation's positions, with the prompt's keys held once for all members.
 * The two parts are joined by their normalisers. `blocks`: as in `causalAttention`.
 */
export const sharedAttention = (own: Continuations, prompts: Prompts, blocks = 1): Tensor => {
  const { graph, shape } = own.q;
  const [groups, members, time, kvHeads, queryGroups, headDim] = shape as [Dim, Dim, Dim, Dim, Dim, number];
  const [, prompt] = prompts.k.shape as [Dim, Dim];
  if (
    shape.length !== 6 ||
    !equal(own.k.shape, [groups, members, time, kvHeads, headDim]) ||
    !equal(prompts.k.shape, [groups, prompt, kvHeads, headDim])
  )
    throw new ShapeError("sharedAttention", [shape, own.k.shape, prompts.k.shape], "sizes differ");
  const scale = 1 / Math.sqrt(headDim);
  const heads = product(kvHeads, queryGroups);
  const rows = product(groups, members, time);
  const sequences = product(groups, members);
  const behind = product(members, time);

  // Queries and results position by position, and what attention takes of them: the positions of a head in a row.
  const inHeads = (x: Tensor, batch: Dim, positions: Dim, width: Dim): Tensor =>
    transpose(reshape(x, [batch, positions, kvHeads, queryGroups, width]), [0, 2, 3, 1, 4]);
  const inRows = (x: Tensor, batch: Dim, positions: Dim, width: Dim): Tensor =>
    reshape(transpose(reshape(x, [batch, kvHeads, queryGroups, positions, width]), [0, 3, 1, 2, 4]), [
      rows,
      heads,
      width,
    ]);
  const ofSequences = (x: Tensor, width: Dim): Tensor => inHeads(x, sequences, time, width);
  const folded = product(queryGroups, behind);
  const ofPrompts = (x: Tensor, width: Dim): Tensor =>
    reshape(inHeads(x, groups, behind, width), [groups, kvHeads, folded, width]);
  const keys = (x: Tensor, batch: Dim, positions: Dim): Tensor =>
    transpose(reshape(x, [batch, positions, kvHeads, headDim]), [0, 2, 1, 3]);

  const within = causal(
    ofSequences(own.q, headDim),
    keys(own.k, sequences, time),
    keys(own.v, sequences, time),
    blocks,
  );
  const [queries, promptKeys] = [ofPrompts(own.q, headDim), keys(prompts.k, groups, prompt)];
  const known = less(reshape(iota(graph, prompt), [1, 1, 1, prompt]), reshape(prompts.lengths, [groups, 1, 1, 1]));
  const before = partOf({
    queries,
    keys: promptKeys,
    values: keys(prompts.v, groups, prompt),
    scores: add(matmul(queries, promptKeys, { transB: true, scale }), visibleOrMasked(known)),
    scale,
  });
  const [mixedWithin, mixedBefore] = [
    inRows(within.mixed, sequences, time, headDim),
    inRows(before.mixed, groups, behind, headDim),
  ];
  /** The prompt's share of each softmax, [rows, heads, 1]. */
  const share = sigmoid(
    sub(inRows(before.normaliser, groups, behind, 1), inRows(within.normaliser, sequences, time, 1)),
  );
  const mixed = add(mixedWithin, mul(share, sub(mixedBefore, mixedWithin)));
  const inputs = [own.q, own.k, own.v, prompts.k, prompts.v];
  return graph.aliasOf("sharedAttention", inputs, reshape(mixed, shape), ([g]) => {
    if (g === undefined) return undefined;
    const gradient = reshape(g, [rows, heads, headDim]);
    const correction = rowSums(mul(gradient, mixed));
    const rest = sub(1, share);
    const [qWithin, kWithin, vWithin] = within.pull(
      ofSequences(mul(gradient, rest), headDim),
      ofSequences(mul(correction, rest), 1),
    );
    const [qBefore, kBefore, vBefore] = before.pull(
      ofPrompts(mul(gradient, share), headDim),
      ofPrompts(mul(correction, share), 1),
    );
    const keyRows = (x: Tensor): Tensor => reshape(transpose(x, [0, 2, 1, 3]), own.k.shape);
    const promptRows = (x: Tensor): Tensor => transpose(x, [0, 3, 1, 2]);
    const ofQueries = add(inRows(qWithin, sequences, time, headDim), inRows(qBefore, groups, behind, headDim));
    return [reshape(ofQueries, shape), keyRows(kWithin), keyRows(vWithin), promptRows(kBefore), promptRows(vBefore)];
  });
};
