/**
 * Results that are not kept for the backward pass but made again in it (activation checkpointing, Chen et al. 2016): memory for time.
 * Invariant: a recomputed node reads something of the incoming gradient, so that it is no copy of the first one to the graph or to the
 * runtime's search for common subexpressions, and cannot run before its gradient is there.
 */
import { add, mul } from "./Elementwise.ts";
import { backward } from "./Gradients.ts";
import type { Tensor } from "./Graph.ts";
import { reshape, slice } from "./Layout.ts";

/**
 * The value of `x`, not before `dependency` is known: one of its elements, times 0, is added. Where that element is not finite the result is
 * NaN, as a gradient is then anyway.
 */
export const after = (x: Tensor, dependency: Tensor): Tensor => {
  let element = dependency;
  for (let axis = 0; axis < dependency.shape.length; axis++) element = slice(element, axis, 0, 1);
  return add(x, mul(reshape(element, []), 0));
};

/**
 * `compute(inputs)`, of which the backward pass keeps `inputs` alone: it computes the rest again. `compute` must give one result, equal
 * nodes for equal inputs, and depend on nothing else that is differentiated but the constants of `weights`.
 */
export const recomputed = (
  inputs: readonly Tensor[],
  weights: readonly Tensor[],
  compute: (inputs: readonly Tensor[]) => Tensor,
): Tensor => {
  const result = compute(inputs);
  return result.graph.aliasOf("recomputed", [...inputs, ...weights], result, ([gradient]) => {
    if (gradient === undefined) return undefined;
    const again = inputs.map((input) => after(input, gradient));
    return backward([{ of: compute(again), gradient }], [...again, ...weights]);
  });
};
