/**
 * Log-probability and entropy of one token per row, from hidden states and the table of output vectors.
 * Scores [rows, vocabulary] are a model's widest numbers. A large vocabulary is therefore taken in chunks, which the backward pass
 * recomputes (Wijmans et al. 2024, "Cut your losses in large-vocabulary language models").
 * Invariant: the result is exact, whatever the chunks.
 */
import { add, exp, log, mul, neg, sub, where } from "../tensor/Elementwise.ts";
import type { Tensor, Vjp } from "../tensor/Graph.ts";
import { gather, oneHotMask, scatterInto, takeAlong } from "../tensor/Indexing.ts";
import { concat, reduceSum, reshape, slice, transpose } from "../tensor/Layout.ts";
import { gemm } from "../tensor/Linear.ts";
import { dependOn } from "../tensor/Recompute.ts";
import { logSoftmax, reduceMax, softmax } from "../tensor/Reduction.ts";
import { ShapeError, sizeOf } from "../tensor/Shape.ts";

export interface TokenStatistics {
  /** Log-probability of each token, float32 [rows], nats. */
  readonly logp: Tensor;
  /** Entropy of the distribution it is taken from, float32 [rows], nats. */
  readonly entropy: Tensor;
}

/** A chunk of the vocabulary for every row: its scores and the softmax over the chunk alone, [rows, chunk]. */
interface Chunk {
  readonly table: Tensor;
  readonly scores: Tensor;
  readonly within: Tensor;
}

const rowSums = (x: Tensor): Tensor => reduceSum(x, [-1], true);

const chunkOf = (hidden: Tensor, table: Tensor): Chunk => {
  const scores = gemm(hidden, table, { transB: true });
  return { table, scores, within: softmax(scores) };
};

/** Returns a chunk's log sum of exponentials and its mean score under its softmax, each [rows, 1]. */
const summaryOf = ({ scores, within }: Chunk): { readonly log: Tensor; readonly mean: Tensor } => ({
  // The largest probability is exp(the largest score) over that sum, and never near 0.
  log: sub(reduceMax(scores, [-1], true), log(reduceMax(within, [-1], true))),
  mean: rowSums(mul(within, scores)),
});

/** log sum exp over the columns of [rows, n]: [rows, 1]. */
const logSumExp = (columns: Tensor): Tensor => {
  if (columns.shape[1] === 1) return columns;
  const top = reduceMax(columns, [-1], true);
  return add(top, log(rowSums(exp(sub(columns, top)))));
};

/** The table in `chunks` parts of its rows. */
const partsOf = (table: Tensor, chunks: number): readonly Tensor[] => {
  const [size] = table.shape;
  if (typeof size !== "number")
    throw new ShapeError("tokenStatistics", [table.shape], "the vocabulary must be a number");
  const end = (part: number): number => Math.floor((size * part) / chunks);
  return Array.from({ length: chunks }, (_, i) => slice(table, 0, end(i), end(i + 1)));
};

const column = (x: Tensor): Tensor => reshape(x, [...x.shape, 1]);

/** The gradient by a score, p (constant + slope s): both [rows, 1], p within the chunk. */
interface ScoreGradient {
  readonly constant: Tensor;
  /** Undefined where it is 0. */
  readonly slope: Tensor | undefined;
}

/** Gradients by the hidden states and, where `byTable`, by the chunk's part of the table. */
const chunkGradients = (
  hidden: Tensor,
  { scores, table, within }: Chunk,
  { constant, slope }: ScoreGradient,
  byTable: boolean,
): { readonly hidden: Tensor; readonly table: Tensor | undefined } => {
  // Without a slope the factor of each row is left to the narrow side of both products.
  const wide = slope === undefined ? within : mul(within, add(constant, mul(scores, slope)));
  const narrow = (x: Tensor): Tensor => (slope === undefined ? mul(x, constant) : x);
  const ofHidden = narrow(gemm(wide, table));
  if (!byTable) return { hidden: ofHidden, table: undefined };
  // The runtime copies a transposed operand in strips: let that be the narrow one.
  const ofTable = transpose(gemm(narrow(hidden), wide, { transA: true }), [1, 0]);
  // The table's gradient comes first, so that the wide numbers are let go of before the pass goes on.
  return { hidden: dependOn(ofHidden, ofTable), table: ofTable };
};

/**
 * Statistics of `tokens` int64 [rows] under the softmax of hidden [rows, width] times table [vocabulary, width], in `chunks` parts of
 * the vocabulary.
 * With p the probabilities, Z their normaliser and H the entropy, the gradient by a score s is (1 if taken) dlogp - p (dlogp +
 * dentropy (s - log Z + H)).
 */
export const tokenStatistics = (hidden: Tensor, table: Tensor, tokens: Tensor, chunks = 1): TokenStatistics => {
  const first = partsOf(table, chunks).map((part) => chunkOf(hidden, part));
  const summaries = first.map(summaryOf);
  const logs = concat(
    summaries.map(({ log }) => log),
    1,
  );
  const means = concat(
    summaries.map(({ mean }) => mean),
    1,
  );
  const normaliser = logSumExp(logs);
  /** The probability of each chunk, [rows, chunks]. */
  const shares = exp(sub(logs, normaliser));
  const vectors = gather(table, tokens);
  const tokenScores = rowSums(mul(hidden, vectors));
  const flat = (x: Tensor): Tensor => reshape(x, tokens.shape);
  const results = [flat(sub(tokenScores, normaliser)), flat(sub(normaliser, rowSums(mul(shares, means))))];
  const vjp: Vjp = ([dlogp, dentropy], [, entropy], [, byTable = false]) => {
    const incoming = dlogp ?? dentropy;
    if (incoming === undefined || entropy === undefined) return undefined;
    const spread = dentropy && mul(column(dentropy), sub(column(entropy), normaliser));
    const constant = neg(
      [dlogp && column(dlogp), spread].filter((each) => each !== undefined).reduce((a, b) => add(a, b)),
    );
    const slope = dentropy && neg(column(dentropy));
    const again =
      chunks === 1 ? first : partsOf(table, chunks).map((part) => chunkOf(dependOn(hidden, incoming), part));
    const parts = again.map((chunk, i) => {
      const share = slice(shares, 1, i, i + 1);
      const pull = { constant: mul(constant, share), slope: slope && mul(slope, share) };
      return chunkGradients(hidden, chunk, pull, byTable);
    });
    const pulled = parts.map((part) => part.hidden).reduce((a, b) => add(a, b));
    const ofTables = parts.flatMap((part) => part.table ?? []);
    if (dlogp === undefined) return [pulled, byTable ? concat(ofTables, 0) : undefined];
    const push = column(dlogp);
    const ofTable = byTable
      ? scatterInto(table.shape, { base: concat(ofTables, 0), indices: tokens, rows: mul(push, hidden) })
      : undefined;
    return [add(pulled, mul(push, vectors)), ofTable];
  };
  const [logp, entropy] = hidden.graph.alias("tokenStatistics", [hidden, table], results, vjp);
  if (logp === undefined || entropy === undefined) throw new RangeError("an alias of two results has two");
  return { logp, entropy };
};

/**
 * Statistics of tokens from the scores [rows, vocab] of a small vocabulary, for which masks and single products are fastest.
 * The gradient by a score is (1 if taken else 0 - p) dtaken - p (log p + entropy) dentropy, in half the passes of the chain rule.
 */
export const scoredStatistics = (scores: Tensor, tokens: Tensor): TokenStatistics => {
  const logp = logSoftmax(scores);
  const p = exp(logp);
  const results = [takeAlong(logp, tokens), neg(reduceSum(mul(p, logp), [-1]))];
  const [tokenLogp, entropy] = scores.graph.alias(
    "scoredStatistics",
    [scores],
    results,
    ([dtaken, dentropy], [, entropy]) => {
      const push = dtaken && where(oneHotMask(tokens, sizeOf(scores.shape, 1)), column(dtaken), 0);
      const spread = dentropy && entropy && mul(add(logp, column(entropy)), column(dentropy));
      const pull = dtaken && spread ? add(spread, column(dtaken)) : (spread ?? (dtaken && column(dtaken)));
      const pulled = pull && mul(p, pull);
      return [push && pulled ? sub(push, pulled) : pulled && neg(pulled)];
    },
  );
  if (tokenLogp === undefined || entropy === undefined) throw new RangeError("an alias of two results has two");
  return { logp: tokenLogp, entropy };
};

/** Vocabularies up to which scores are no wider than the other numbers of a model. */
export const SMALL_VOCABULARY = 1024;

/** Scores held at once at most, where the vocabulary is taken in chunks: 256 MiB. */
const SCORES = 2 ** 26;

/** Chunks of a vocabulary for passes of at most so many rows. */
export const chunksFor = (rows: number, vocabulary: number): number =>
  Math.min(vocabulary, Math.max(1, Math.ceil((rows * vocabulary) / SCORES)));
