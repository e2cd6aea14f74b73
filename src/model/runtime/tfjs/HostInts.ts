/**
 * The arithmetic of sizes on the host: what a graph computes from its inputs' shapes only to say how large something is. It stays out of the
 * device, which it would otherwise be read back from at every reshape.
 * Invariant: values are whole numbers that a double holds exactly.
 */
import type { OnnxNode } from "../../tensor/Onnx.ts";
import { elements, intOf, UnsupportedNode } from "./Call.ts";

/** A vector, or a scalar where `dims` is empty. */
export interface HostInts {
  readonly values: readonly number[];
  readonly dims: readonly number[];
}

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  // ONNX divides integers towards zero
  Div: (a, b) => Math.trunc(a / b),
};

/** True if a node can compute on the host when all its inputs are there. `constants` are known before a run. */
export const isHostOperator = ({ inputs, type }: OnnxNode, constants: ReadonlyMap<string, HostInts>): boolean => {
  if (type !== "Reshape") return type in arithmetic || type === "Concat";
  const target = constants.get(inputs[1] ?? "");
  return target !== undefined && target.values.length < 2;
};

const combine = (node: OnnxNode, operate: (a: number, b: number) => number, a: HostInts, b: HostInts): HostInts => {
  const length = Math.max(a.values.length, b.values.length);
  if ([a, b].some(({ values }) => values.length !== length && values.length !== 1))
    throw new UnsupportedNode(node, `sizes [${a.dims}] and [${b.dims}] do not broadcast`);
  const at = ({ values }: HostInts, i: number): number => values[values.length === 1 ? 0 : i] ?? Number.NaN;
  const dims = a.dims.length === 0 && b.dims.length === 0 ? [] : [length];
  return { values: Array.from({ length }, (_, i) => operate(at(a, i), at(b, i))), dims };
};

/** The result of a host operator. */
export const computeOnHost = (node: OnnxNode, inputs: readonly HostInts[]): HostInts => {
  const [a, b] = inputs;
  const operate = arithmetic[node.type];
  if (operate !== undefined && a !== undefined && b !== undefined) return combine(node, operate, a, b);
  if (node.type === "Concat") {
    const values = inputs.flatMap((input) => input.values);
    return { values, dims: [values.length] };
  }
  if (node.type === "Reshape" && a !== undefined && b !== undefined) {
    if (elements(b.values) !== a.values.length || b.values.length > 1)
      throw new UnsupportedNode(node, `${a.values.length} sizes do not fill [${b.values}]`);
    return { values: a.values, dims: b.values };
  }
  throw new UnsupportedNode(node, "it does not compute on the host");
};

/** A tensor's shape, or the part of it that a Shape node asks for. */
export const shapeOf = (node: OnnxNode, shape: readonly number[]): HostInts => {
  const values = shape.slice(intOf(node, "start", 0), intOf(node, "end", shape.length));
  return { values, dims: [values.length] };
};
