/**
 * AdamW as one ONNX model over flat vectors. Inputs are parameters, gradient and moments; outputs the new parameters and moments and the
 * gradient's norm before clipping, which the model does. Decay applies to every parameter, as torch's AdamW does by default.
 */
import { add, div, minimum, mul, sqrt, square, sub } from "../tensor/Elementwise.ts";
import { Graph } from "../tensor/Graph.ts";
import { reduceSum } from "../tensor/Layout.ts";

export interface AdamWOptions {
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  /** Largest global gradient norm; 0 off. */
  readonly gradClip: number;
}

/**
 * AdamW (Loshchilov and Hutter 2019) of `size` parameters. Inputs: parameters, gradient, first, second [size] and the
 * scalars of `scalars`; outputs: the same three under `new_…` and `norm`, the gradient's norm before clipping.
 */
export const adamWModel = (size: number, { betas: [beta1, beta2], eps }: AdamWOptions): Uint8Array => {
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
  graph.output("new_parameters", sub(mul(parameters, scalar("keep")), step));
  graph.output("new_first", first);
  graph.output("new_second", second);
  graph.output("norm", norm);
  return graph.toOnnx();
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
