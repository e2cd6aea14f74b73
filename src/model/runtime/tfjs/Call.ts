/**
 * One node of a model as an operator sees it: its inputs as tensors or as numbers, and its attributes.
 * Invariant: an operator never returns an input itself, so that what it returns can be disposed alone.
 */
import type { OnnxNode } from "../../tensor/Onnx.ts";
import type { Tensor, Tf } from "./peer.ts";

export interface Call {
  readonly tf: Tf;
  readonly node: OnnxNode;
  /** True if only operations with a gradient in tfjs may be used. */
  readonly differentiable: boolean;
  /** True if an optional input is present. */
  readonly has: (index: number) => boolean;
  /** Raises a RangeError where the input is left out. */
  readonly input: (index: number) => Tensor;
  /** The numbers of an integer input, read to the host where they are not there already. */
  readonly ints: (index: number) => readonly number[];
}

/** Gives the node's outputs, the first one alone where it has several and nobody uses the others. */
export type Operator = (call: Call) => Tensor | readonly Tensor[];

/** Raised at open or at run for what the executor does not do. */
export class UnsupportedNode extends Error {
  override readonly name = "Unsupported";
  constructor({ name, type }: OnnxNode, reason: string) {
    super(`tfjs executor, node "${name}" (${type}): ${reason}`);
  }
}

export const intOf = ({ attributes }: OnnxNode, name: string, fallback: number): number => {
  const attribute = attributes[name];
  return attribute !== undefined && "int" in attribute ? attribute.int : fallback;
};

export const floatOf = ({ attributes }: OnnxNode, name: string, fallback: number): number => {
  const attribute = attributes[name];
  return attribute !== undefined && "float" in attribute ? attribute.float : fallback;
};

export const textOf = ({ attributes }: OnnxNode, name: string, fallback: string): string => {
  const attribute = attributes[name];
  return attribute !== undefined && "text" in attribute ? attribute.text : fallback;
};

export const intsOf = ({ attributes }: OnnxNode, name: string): readonly number[] | undefined => {
  const attribute = attributes[name];
  return attribute !== undefined && "ints" in attribute ? attribute.ints : undefined;
};

/** A possibly negative axis of a tensor of `rank` as a position. */
export const positionOf = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

export const elements = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);
