/**
 * AdamW's options, its factors per step, and AdamW as ONNX models for devices that keep tensors (on the CPU AdamW.ts changes numbers in
 * place). The model clips the gradient; decay applies to every parameter, as in torch's AdamW. Invariant: if a new number is not finite,
 * `norm`, `parameter_squares` or `second_sum` is not.
 */

import type { ParameterSpec } from "../../model/graphs/Architecture.ts";
import { add, div, minimum, mul, sqrt, square, sub } from "../../model/tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../model/tensor/Graph.ts";
import { reduceSum } from "../../model/tensor/Layout.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";
import { reduceSumSquare } from "../../model/tensor/Reduction.ts";

export interface AdamWOptions {
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  /** Largest global gradient norm; 0 is off. */
  readonly gradClip: number;
}

interface ParameterState {
  readonly parameters: Tensor;
  readonly first: Tensor;
  readonly second: Tensor;
}

/** Takes one step of equally shaped tensors along a clipped gradient. */
const adamWStep = (
  { first, gradient, parameters, second }: ParameterState & { readonly gradient: Tensor },
  factors: { readonly keep: Tensor; readonly rootCorrection: Tensor; readonly stepSize: Tensor },
  { betas: [beta1, beta2], eps }: Pick<AdamWOptions, "betas" | "eps">,
): ParameterState => {
  const newFirst = add(mul(first, beta1), mul(gradient, 1 - beta1));
  const newSecond = add(mul(second, beta2), mul(square(gradient), 1 - beta2));
  const denominator = add(mul(sqrt(newSecond), factors.rootCorrection), eps);
  const step = mul(div(newFirst, denominator), factors.stepSize);
  return { parameters: sub(mul(parameters, factors.keep), step), first: newFirst, second: newSecond };
};

/**
 * AdamW (Loshchilov and Hutter 2019) of `size` parameters. Inputs: parameters, gradient, first, second [size] and the scalars of
 * `stepScalars`. Outputs: new_parameters, new_first, new_second; `norm`, the gradient's norm before clipping; and two sums that are finite
 * only if the new numbers are.
 */
export const adamWModel = (size: number, { betas: [beta1, beta2], eps }: AdamWOptions): OnnxModel => {
  const graph = new Graph("adamw");
  const vector = (name: string) => graph.input(name, "float32", [size]);
  const scalar = (name: string) => graph.input(name, "float32", []);
  const parameters = vector("parameters");
  const raw = vector("gradient");
  const norm = sqrt(reduceSum(square(raw)));
  const gradient = mul(raw, minimum(div(scalar("max_norm"), add(norm, 1e-6)), 1));
  const state = { parameters, gradient, first: vector("first"), second: vector("second") };
  const factors = { keep: scalar("keep"), rootCorrection: scalar("root_correction"), stepSize: scalar("step_size") };
  const { first, parameters: newParameters, second } = adamWStep(state, factors, { betas: [beta1, beta2], eps });
  graph.output("new_parameters", newParameters);
  graph.output("new_first", first);
  graph.output("new_second", second);
  graph.output("norm", norm);
  // A sum is finite only if each of its terms is. The first moment needs no sum, because it is a factor of each step.
  graph.output("parameter_squares", reduceSumSquare(newParameters));
  graph.output("second_sum", reduceSum(second));
  return graph.toModel();
};

export const gradientInputName = (name: string): string => `gradient of ${name}`;
export const firstMomentName = (name: string): string => `first of ${name}`;
export const secondMomentName = (name: string): string => `second of ${name}`;
/** Names the output that replaces an input. */
export const newName = (name: string): string => `new ${name}`;

/**
 * AdamW over separate tensors. Inputs: for each spec the parameter under its name, `gradientInputName`, `firstMomentName` and
 * `secondMomentName` of it, and the scalars of `stepScalars`. Outputs: `newName` of parameter and moments, and `norm`, `parameter_squares`
 * and `second_sum` over all tensors.
 */
export const adamWTensorsModel = (specs: readonly ParameterSpec[], options: AdamWOptions): OnnxModel => {
  const graph = new Graph("adamw");
  const scalar = (name: string) => graph.input(name, "float32", []);
  const total = (terms: readonly Tensor[]): Tensor => terms.reduce((sum, term) => add(sum, term));
  const tensors = specs.map(({ name, shape }) => ({
    name,
    parameters: graph.input(name, "float32", shape),
    raw: graph.input(gradientInputName(name), "float32", shape),
    first: graph.input(firstMomentName(name), "float32", shape),
    second: graph.input(secondMomentName(name), "float32", shape),
  }));
  const norm = sqrt(total(tensors.map(({ raw }) => reduceSumSquare(raw))));
  const scale = minimum(div(scalar("max_norm"), add(norm, 1e-6)), 1);
  const factors = { keep: scalar("keep"), rootCorrection: scalar("root_correction"), stepSize: scalar("step_size") };
  const newStates = tensors.map(({ name, raw, ...state }) => {
    const after = adamWStep({ ...state, gradient: mul(raw, scale) }, factors, options);
    graph.output(newName(name), after.parameters);
    graph.output(newName(firstMomentName(name)), after.first);
    graph.output(newName(secondMomentName(name)), after.second);
    return after;
  });
  graph.output("norm", norm);
  graph.output("parameter_squares", total(newStates.map(({ parameters }) => reduceSumSquare(parameters))));
  graph.output("second_sum", total(newStates.map(({ second }) => reduceSum(second))));
  return graph.toModel();
};

/** Returns the factors of step number `step`, counted from 1. */
export const stepScalars = (
  { betas: [beta1, beta2], weightDecay, gradClip }: AdamWOptions,
  lr: number,
  step: number,
): Readonly<Record<"max_norm" | "step_size" | "root_correction" | "keep", number>> => ({
  max_norm: gradClip === 0 ? Number.POSITIVE_INFINITY : gradClip,
  step_size: lr / (1 - beta1 ** step),
  root_correction: 1 / Math.sqrt(1 - beta2 ** step),
  keep: 1 - lr * weightDecay,
});
