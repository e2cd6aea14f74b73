/**
 * Attention with grouped queries: causal over whole sequences, and of continuations to the prompt that they share and to themselves. Both are
 * made of parts, each of which takes queries to one set of keys.
 */
import { add, div, less, lessOrEqual, log, mul, sigmoid, sub, where } from "./Elementwise.ts";
import type { Graph, Tensor } from "./Graph.ts";
import { iota } from "./Indexing.ts";
import { concat, pad, reduceSum, reshape, slice, transpose } from "./Layout.ts";
import { matmul } from "./Linear.ts";
import { dependOn } from "./Recompute.ts";
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

/** Options of the computation, which do not change the result. */
export interface AttentionOptions {
  /** Number of blocks of rows; only one block's scores are held at once. */
  readonly blocks: number;
  /**
   * If true, the backward pass recomputes the softmax from queries and keys, so nothing as wide as the context is kept (Dao et al.
   * 2022).
   */
  readonly recompute: boolean;
}

const defaultOptions: AttentionOptions = { blocks: 1, recompute: false };

/** Queries against one set of keys. */
interface AttentionPart {
  /** Values mixed by the softmax over these keys alone, [..., rows, headDim]. */
  readonly mixed: Tensor;
  /** Logarithm of the sum of the exponentials of the scores, [..., rows, 1]. */
  readonly normaliser: Tensor;
  /**
   * Returns gradients by queries, keys and values of a result in which `mixed` has a share. `pulled` is the result's gradient times
   * that share.
   * `correction` [..., rows, 1] is the row sums of `pulled` times the result. They equal the softmax's row sums of (weights *
   * dweights) and are far narrower (Dao et al. 2022, appendix B.2).
   */
  readonly pull: (pulled: Tensor, correction: Tensor) => readonly [q: Tensor, k: Tensor, v: Tensor];
}

interface PartInput {
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
  /** Scores of queries and every key, masked. */
  readonly score: (queries: Tensor) => Tensor;
  readonly scale: number;
  readonly recompute: boolean;
}

/** Gradients of keys and values come out as [..., headDim, columns]. */
const partOf = ({ keys, queries, recompute, scale, score, values }: PartInput): AttentionPart => {
  const scores = score(queries);
  const weights = softmax(scores);
  return {
    mixed: matmul(weights, values),
    // The largest weight is exp(the largest score) over that sum, and never near 0.
    normaliser: sub(reduceMax(scores, [-1], true), log(reduceMax(weights, [-1], true))),
    pull: (pulled, correction) => {
      const again = recompute ? softmax(score(dependOn(queries, pulled))) : weights;
      const dscores = mul(again, sub(matmul(pulled, values, { transB: true }), correction));
      // A transposed operand is copied in strips: let that be the narrow one.
      return [
        matmul(dscores, keys, { scale }),
        matmul(queries, dscores, { transA: true, scale }),
        matmul(pulled, again, { transA: true }),
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
 * q [batch, kvHeads, groups, time, headDim], k and v [batch, kvHeads, time, headDim]. A head's groups are folded into its rows, so
 * products are plain stacks of matrices.
 * Each of the `blocks` of rows takes only the columns up to its end, which skips nearly half of the masked products. A time below
 * `blocks` is allowed.
 */
const causal = (q: Tensor, k: Tensor, v: Tensor, { blocks, recompute }: AttentionOptions): AttentionPart => {
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
    const score = (queryRows: Tensor): Tensor => {
      const maskedScores = unfold(matmul(queryRows, keys, { transB: true, scale }), end);
      return fold(add(maskedScores, causalMask(graph, start, end)), end);
    };
    return { rows, unfold, ...partOf({ queries, keys, values, score, scale, recompute }) };
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
 * [batch, kvHeads, groups, time, headDim].
 */
export const causalAttention = (
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: AttentionOptions = defaultOptions,
): Tensor => {
  const { mixed, pull } = causal(q, k, v, options);
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

type Sizes = readonly [groups: Dim, members: Dim, time: Dim, kvHeads: Dim, queryGroups: Dim, headDim: number];

const sizesOf = ({ k, q }: Continuations, prompts: Prompts): Sizes => {
  const [groups, members, time, kvHeads, queryGroups, headDim] = q.shape as Sizes;
  const [, prompt] = prompts.k.shape as [Dim, Dim];
  if (
    q.shape.length !== 6 ||
    !equal(k.shape, [groups, members, time, kvHeads, headDim]) ||
    !equal(prompts.k.shape, [groups, prompt, kvHeads, headDim])
  )
    throw new ShapeError("sharedAttention", [q.shape, k.shape, prompts.k.shape], "sizes differ");
  return [groups, members, time, kvHeads, queryGroups, headDim];
};

/** Converts between rows [rows, heads, width], position by position, and the layout of attention. */
const rowsOf = (batch: Dim, positions: Dim, [, , , kvHeads, queryGroups]: Sizes) => ({
  inHeads: (x: Tensor, width: Dim): Tensor =>
    transpose(reshape(x, [batch, positions, kvHeads, queryGroups, width]), [0, 2, 3, 1, 4]),
  inRows: (x: Tensor, width: Dim): Tensor =>
    reshape(transpose(reshape(x, [batch, kvHeads, queryGroups, positions, width]), [0, 3, 1, 2, 4]), [
      product(batch, positions),
      product(kvHeads, queryGroups),
      width,
    ]),
});

/** [..., positions, kvHeads, headDim] as [batch, kvHeads, positions, headDim]. */
const keysInHeads = (x: Tensor, batch: Dim, positions: Dim, [, , , kvHeads, , headDim]: Sizes): Tensor =>
  transpose(reshape(x, [batch, positions, kvHeads, headDim]), [0, 2, 1, 3]);

/** Continuations to themselves. Queries and results are rows. */
const withinContinuations = (continuations: Continuations, sizes: Sizes, options: AttentionOptions): AttentionPart => {
  const [groups, members, time, , , headDim] = sizes;
  const sequences = product(groups, members);
  const { inHeads, inRows } = rowsOf(sequences, time, sizes);
  const [keys, values] = [continuations.k, continuations.v].map((x) => keysInHeads(x, sequences, time, sizes)) as [
    Tensor,
    Tensor,
  ];
  const part = causal(inHeads(continuations.q, headDim), keys, values, options);
  const keyRows = (x: Tensor): Tensor => reshape(transpose(x, [0, 2, 1, 3]), continuations.k.shape);
  return {
    mixed: inRows(part.mixed, headDim),
    normaliser: inRows(part.normaliser, 1),
    pull: (pulled, correction) => {
      const [q, k, v] = part.pull(inHeads(pulled, headDim), inHeads(correction, 1));
      return [inRows(q, headDim), keyRows(k), keyRows(v)];
    },
  };
};

/** Continuations to the prompt before them: those of a group are rows of one product. Queries and results are rows. */
const toPrompts = (q: Tensor, prompts: Prompts, sizes: Sizes, recompute: boolean): AttentionPart => {
  const { graph } = q;
  const [groups, members, time, kvHeads, queryGroups, headDim] = sizes;
  const [, prompt] = prompts.k.shape as [Dim, Dim];
  const behind = product(members, time);
  const { inHeads, inRows } = rowsOf(groups, behind, sizes);
  const folded = (x: Tensor, width: Dim): Tensor =>
    reshape(inHeads(x, width), [groups, kvHeads, product(queryGroups, behind), width]);
  const [keys, values] = [prompts.k, prompts.v].map((x) => keysInHeads(x, groups, prompt, sizes)) as [Tensor, Tensor];
  const isPrompt = less(reshape(iota(graph, prompt), [1, 1, 1, prompt]), reshape(prompts.lengths, [groups, 1, 1, 1]));
  const scale = 1 / Math.sqrt(headDim);
  const queries = folded(q, headDim);
  const masked = visibleOrMasked(isPrompt);
  const score = (queryRows: Tensor): Tensor => add(matmul(queryRows, keys, { transB: true, scale }), masked);
  const part = partOf({ queries, keys, values, score, scale, recompute });
  return {
    mixed: inRows(part.mixed, headDim),
    normaliser: inRows(part.normaliser, 1),
    pull: (pulled, correction) => {
      const [ofQueries, k, v] = part.pull(folded(pulled, headDim), folded(correction, 1));
      return [inRows(ofQueries, headDim), transpose(k, [0, 3, 1, 2]), transpose(v, [0, 3, 1, 2])];
    },
  };
};

/**
 * Attention of continuations to their prompt and causally to themselves, [groups, members, time, kvHeads, queryGroups, headDim].
 * The result is that of causal attention over prompt and continuation in a row, with the prompt's keys held once. Normalisers join the
 * two parts.
 */
export const sharedAttention = (
  continuations: Continuations,
  prompts: Prompts,
  options: AttentionOptions = defaultOptions,
): Tensor => {
  const { graph, shape } = continuations.q;
  const sizes = sizesOf(continuations, prompts);
  const within = withinContinuations(continuations, sizes, options);
  const before = toPrompts(continuations.q, prompts, sizes, options.recompute);
  /** The prompt's share of each softmax, [rows, heads, 1]. */
  const share = sigmoid(sub(before.normaliser, within.normaliser));
  const mixed = add(within.mixed, mul(share, sub(before.mixed, within.mixed)));
  const inputs = [continuations.q, continuations.k, continuations.v, prompts.k, prompts.v];
  return graph.aliasOf("sharedAttention", inputs, reshape(mixed, shape), ([g]) => {
    if (g === undefined) return undefined;
    const gradient = reshape(g, mixed.shape);
    const correction = rowSums(mul(gradient, mixed));
    const rest = sub(1, share);
    const [qWithin, kWithin, vWithin] = within.pull(mul(gradient, rest), mul(correction, rest));
    const [qBefore, kBefore, vBefore] = before.pull(mul(gradient, share), mul(correction, share));
    return [reshape(add(qWithin, qBefore), shape), kWithin, vWithin, kBefore, vBefore];
  });
};
