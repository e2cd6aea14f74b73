/**
 * Sampling as a graph: token, log-probability and entropy of every row of logits, by the steps of generation/Sampler.ts.
 * The inverse of the cumulative distribution is taken over blocks of the vocabulary, then inside one, with operators that a GPU has.
 * Truncation (top-k, top-p) is not done here.
 */
import { add, cast, equals, exp, less, lessOrEqual, log, minimum, mul, sub, where } from "../tensor/Elementwise.ts";
import type { Graph, Tensor } from "../tensor/Graph.ts";
import { concat, expand, reduceSum, reshape } from "../tensor/Layout.ts";
import { gemm } from "../tensor/Linear.ts";
import { reduceMax } from "../tensor/Reduction.ts";
import { ShapeError } from "../tensor/Shape.ts";

/** The sampling parameters of each row. */
export interface DrawInputs {
  /** 1 / temperature; 1 where the likeliest token is wanted, float32 [rows]. */
  readonly scale: Tensor;
  /** 1 where the likeliest token is wanted, else 0, float32 [rows]. */
  readonly greedy: Tensor;
  /** In [0, 1), float32 [rows]. */
  readonly uniform: Tensor;
}

/** Columns of a drawn row: token, log-probability, entropy, and the sum of weights, which is finite only if all logits are. */
export const DRAW_WIDTH = 4;

const counting = (graph: Graph, size: number): Tensor =>
  graph.constant(Float32Array.from({ length: size }, (_, i) => i));

/** Products with it are running sums along a row. */
const upperTriangle = (graph: Graph, size: number): Tensor =>
  graph.constant(
    Float32Array.from({ length: size * size }, (_, i) => (Math.floor(i / size) <= i % size ? 1 : 0)),
    "float32",
    [size, size],
  );

const number = (condition: Tensor): Tensor => cast(condition, "float32");

/** Counts the columns whose running sum is not above `target`, which is the index of the first that is, [rows, 1]. */
const countBelow = (weights: Tensor, size: number, before: Tensor | undefined, target: Tensor): Tensor => {
  const running = gemm(weights, upperTriangle(weights.graph, size));
  const reached = before === undefined ? running : add(running, before);
  return minimum(reduceSum(number(lessOrEqual(reached, target)), [-1], true), size - 1);
};

/** logits [rows, vocab] to float32 [rows, DRAWN]. */
export const draw = (logits: Tensor, { greedy, scale, uniform }: DrawInputs): Tensor => {
  const { graph } = logits;
  const [rows, vocabulary] = logits.shape;
  if (rows === undefined || typeof vocabulary !== "number")
    throw new ShapeError("draw", [logits.shape], "the vocabulary must be known");
  const column = (x: Tensor): Tensor => reshape(x, [rows, 1]);
  const size = Math.ceil(Math.sqrt(vocabulary));
  const blocks = Math.ceil(vocabulary / size);
  const scaled = mul(logits, column(scale));
  const below = sub(scaled, reduceMax(scaled, [-1], true));
  const weights = exp(below);
  const padding = blocks * size - vocabulary;
  const padded = padding === 0 ? weights : concat([weights, expand(graph.constant(0), [rows, padding])], 1);
  const cut = reshape(padded, [rows, blocks, size]);
  const sums = reduceSum(cut, [-1]);
  const total = reduceSum(sums, [-1], true);
  const target = mul(column(uniform), total);

  const block = countBelow(sums, blocks, undefined, target);
  const numbers = counting(graph, blocks);
  const chosen = reshape(number(equals(numbers, block)), [rows, blocks, 1]);
  const inside = reduceSum(mul(cut, chosen), [1]);
  const before = reduceSum(where(less(numbers, block), sums, 0), [-1], true);
  const sampled = add(mul(block, size), countBelow(inside, size, before, target));

  const ids = counting(graph, vocabulary);
  const valueOfId = (id: Tensor, values: Tensor): Tensor => reduceSum(where(equals(ids, id), values, 0), [-1], true);
  // The lowest id of those that attain the maximum, where `below` is 0.
  const likeliest = mul(reduceMax(where(equals(below, 0), mul(ids, -1), -vocabulary), [-1], true), -1);
  const isGreedy = column(greedy);
  // Rounding may end on a token without weight. A product where a GPU would leave an `or` to the CPU.
  const fallback = less(mul(valueOfId(sampled, weights), sub(1, isGreedy)), 1e-30);
  const id = where(fallback, likeliest, sampled);
  const logTotal = log(total);
  const sure = equals(isGreedy, 1);
  const mu = where(sure, 0, sub(valueOfId(id, below), logTotal));
  const moment = reduceSum(mul(weights, below), [-1], true);
  const entropy = where(sure, 0, sub(logTotal, mul(moment, exp(mul(logTotal, -1)))));
  return concat([id, mu, entropy, total], 1);
};
