/**
 * Activation checkpointing (Chen et al. 2016): results are recomputed in the backward pass instead of kept.
 * Invariant: a recomputed node reads the incoming gradient, so neither the graph nor the runtime merges it with the first one, and it
 * cannot run early.
 */
import { add, mul } from "./Elementwise.ts";
import { backward } from "./Gradients.ts";
import type { Tensor } from "./Graph.ts";
import { reshape, slice } from "./Layout.ts";

/**
 * The value of `x`, not before `dependency` is known: one of its elements, times 0, is added. Where that element is not finite the result is
 * NaN, as a gradient is then anyway. No gradient passes: it is used inside of a backward pass.
 */
export const dependOn = (x: Tensor, dependency: Tensor): Tensor => {
  let element = dependency;
  for (let axis = 0; axis < dependency.shape.length; axis++) element = slice(element, axis, 0, 1);
  return x.graph.aliasOf("after", [x], add(x, mul(reshape(element, []), 0)));
};

/** The graph's float32 inputs that `result` is differentiably made of, on the way back to `input`. */
const weightsBehind = (result: Tensor, input: Tensor): readonly Tensor[] => {
  const visited = new Set<Tensor>([input]);
  const weights: Tensor[] = [];
  const pending = [result];
  for (let tensor = pending.pop(); tensor !== undefined; tensor = pending.pop()) {
    if (visited.has(tensor) || tensor.dtype !== "float32") continue;
    visited.add(tensor);
    const { emission, inputs } = tensor.graph.producer(tensor);
    if (emission.kind === "input") weights.push(tensor);
    for (const each of inputs) if (each !== undefined) pending.push(each);
  }
  return weights;
};

/**
 * `compute(input)`, of which the backward pass keeps `input` alone: it computes again what else it needs. `compute` may read weights, graph
 * inputs, and must make the same of equal inputs.
 */
export const withRecompute = (input: Tensor, compute: (input: Tensor) => Tensor): Tensor => {
  const result = compute(input);
  const weights = weightsBehind(result, input);
  return result.graph.aliasOf("recomputed", [input, ...weights], result, ([gradient], _, needed) => {
    if (gradient === undefined) return undefined;
    const again = dependOn(input, gradient);
    const inputs = [again, ...weights];
    const gradients = backward(
      [{ tensor: compute(again), gradient }],
      inputs.filter((_, i) => needed[i]),
    );
    let next = 0;
    return inputs.map((_, i) => (needed[i] ? gradients[next++] : undefined));
  });
};
