/** Compares the gradients of an operation with central differences along random directions, in float32. */
import { expect } from "vitest";
import { stream } from "../../../src/domain/Random.ts";
import { mul } from "../../../src/model/tensor/Elementwise.ts";
import { gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../../src/model/tensor/Layout.ts";
import { type Feeds, float32, load } from "./session.ts";

export interface Check {
  readonly shapes: ReadonlyArray<readonly number[]>;
  /** Builds the result from inputs of those shapes. */
  readonly build: (...inputs: Tensor[]) => Tensor;
  /** Inputs above zero, for logarithms and roots. */
  readonly positive?: boolean;
  /** Other inputs of the graph, by name, which `build` may read from it. */
  readonly feeds?: Feeds;
}

const STEP = 1e-2;
const SPACING = 0.125;

/**
 * Distinct values on a grid, shuffled; a different offset for each input, so that no two values of a check lie within
 * a step of each other: comparisons never change sides.
 */
const values = (
  size: number,
  input: number,
  positive: boolean,
  shuffle: (list: number[]) => number[],
): Float32Array => {
  const grid = Array.from({ length: size }, (_, index) => {
    const centred = positive ? index + 4 : index - Math.floor(size / 2);
    return centred * SPACING + 0.03 + (input * SPACING) / 2;
  });
  return Float32Array.from(shuffle(grid));
};

export const checkGradients = async (check: Check, seed: number): Promise<void> => {
  const random = stream({ seed, purpose: "initialisation", counters: [] });
  const graph = new Graph();
  const inputs = check.shapes.map((shape, index) => graph.input(`x${index}`, "float32", shape));
  for (const [name, { dtype, dims }] of Object.entries(check.feeds ?? {})) graph.input(name, dtype, dims);
  const y = check.build(...inputs);
  const size = y.shape.reduce<number>((total, dim) => total * Number(dim), 1);
  const weighting = graph.constant(
    Array.from({ length: size }, () => random.normal()),
    "float32",
    y.shape.map(Number),
  );
  const loss = reduceSum(mul(y, weighting));
  graph.output("loss", loss);
  gradients(loss, inputs).forEach((gradient, index) => {
    graph.output(`gradient ${index}`, gradient);
  });
  const model = await load(graph.toModel());
  try {
    const point = check.shapes.map((shape, index) =>
      values(
        shape.reduce((a, b) => a * b, 1),
        index,
        check.positive ?? false,
        random.shuffle,
      ),
    );
    const run = (at: readonly Float32Array[]) =>
      model.run({ ...check.feeds, ...Object.fromEntries(at.map((x, i) => [`x${i}`, float32(check.shapes[i]!, x)])) });
    const analytic = await run(point);
    for (const [index, x] of point.entries()) {
      const direction = Array.from(x, () => 2 * random.uniform() - 1);
      const moved = (sign: number) =>
        point.with(
          index,
          x.map((value, i) => value + sign * STEP * direction[i]!),
        );
      const [ahead, behind] = [await run(moved(1)), await run(moved(-1))];
      const numeric = (ahead.loss![0]! - behind.loss![0]!) / (2 * STEP);
      const terms = direction.map((d, i) => d * analytic[`gradient ${index}`]![i]!);
      const scale = 1 + terms.reduce((sum, term) => sum + Math.abs(term), 0);
      const exact = terms.reduce((sum, term) => sum + term, 0);
      expect(Math.abs(numeric - exact) / scale, `input ${index}: ${numeric} against ${exact}`).toBeLessThan(3e-3);
    }
  } finally {
    await model.release();
  }
};
