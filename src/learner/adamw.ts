/**
 * AdamW's options and factors, and AdamW as one ONNX model over flat vectors: the form of devices whose numbers the runtime holds (on the
 * CPU they are changed in place, optimiser/AdamW.ts). Inputs are parameters, gradient and moments; outputs the new parameters and moments
 * and the gradient's norm before clipping, which the model does. Decay applies to every parameter, as torch's AdamW does by default.
 * Invariant: where a new number is not finite, `norm`, `parameter_squares` or `second_sum` is not.
 */

import { add, div, minimum, mul, sqrt, square, sub } from "../tensor/Elementwise.ts";
import { Graph } from "../tensor/Graph.ts";
import { reduceSum } from "../tensor/Layout.ts";
import type { OnnxModel } from "../tensor/Onnx.ts";
import { reduceSumSquare } from "../tensor/Reduction.ts";

export interface AdamWOptions {
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  /** Largest global gradient norm; 0 off. */
  readonly gradClip: number;
}

/**
 * AdamW (Loshchilov and Hutter 2019) of `size` parameters. Inputs: parameters, gradient, first, second [size] and the
 * scalars of `scalars`; outputs: the same three under `new_…`, `norm`, the gradient's norm before clipping, and two sums that tell
 * whether the new numbers are finite.
 */
export const adamWModel = (size: number, { betas: [beta1, beta2], eps }: AdamWOptions): OnnxModel => {
  const graph = new Graph("adamw");
  const vector = (name: string) => graph.input(name, "float32", [size]);
  const scalar = (name: string) => graph.input(name, "float32", []);
  const parameters = vector("parameters");
  const raw = vector("gradient");
  const norm = sqrt(reduceSum(square(raw)));
  const gradient = mul(raw, minimum(div(scalar("max_norm"), add(norm, 1e-6)), 1));
  const first = add(mul(vector("first"), beta1), mul(gradient, 1 - beta1));
  const second = add(mul(vector("second"), beta2), mul(square(gradient), 1 - beta2));
  const denominator = add(mul(sqrt(second), scalar("root_correction")), eps);
  const step = mul(div(first, denominator), scalar("step_size"));
  const next = sub(mul(parameters, scalar("keep")), step);
  graph.output("new_parameters", next);
  graph.output("new_first", first);
  graph.output("new_second", second);
  graph.output("norm", norm);
  // A sum is finite only if each of its terms is. The first moment needs none: it is a factor of each step, whatever the step size.
  graph.output("parameter_squares", reduceSumSquare(next));
  graph.output("second_sum", reduceSum(second));
  return graph.toModel();
};

/** What changes from step to step, for step number `step` counted from 1. */
export const scalars = (
  { betas: [beta1, beta2], weightDecay, gradClip }: AdamWOptions,
  lr: number,
  step: number,
): Readonly<Record<"max_norm" | "step_size" | "root_correction" | "keep", number>> => ({
  max_norm: gradClip === 0 ? Number.POSITIVE_INFINITY : gradClip,
  step_size: lr / (1 - beta1 ** step),
  root_correction: 1 / Math.sqrt(1 - beta2 ** step),
  keep: 1 - lr * weightDecay,
});
