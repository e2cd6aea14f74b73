/**
 * What one session of onnxruntime takes beside its inputs, by how the runtime allocates: its own structures, and the values of a run, which
 * `liveness` counts. The factors are measured (docs/plan.md).
 */
import { type Liveness, liveness, type Sizes } from "../../model/tensor/Liveness.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";

/** How the runtime allocates the values of a run on the CPU. */
export interface Allocation {
  /** Memory is kept from run to run. */
  readonly arena: boolean;
  /** From the second run of a shape on, one block for all values, beside what the first run has left. */
  readonly pattern: boolean;
}

/** As `Session.open` has it. */
export const allocation: Allocation = { arena: true, pattern: true };

/** Bytes taken over bytes alive, at most, once every shape has been run more than once. */
export const overhead = ({ arena, pattern }: Allocation): number => {
  if (arena) return pattern ? 2.2 : 1.15;
  return pattern ? 1.9 : 1.3;
};

/** A session's nodes, kernels and optimised graph, per node of its model. */
const BYTES_PER_NODE = 28_000;

export interface SessionBytes {
  /** From opening on. */
  readonly held: number;
  /** Values while it runs; with an arena also afterwards. */
  readonly values: number;
  /** Results as JavaScript has them: the runtime copies every output. */
  readonly results: number;
  /** Operations of one run. */
  readonly flops: number;
  readonly liveness: Liveness;
}

/** Of a model's session whose largest run has `sizes`. */
export const sessionBytes = (model: OnnxModel, sizes: Sizes, how: Allocation = allocation): SessionBytes => {
  const found = liveness(model, sizes);
  return {
    held: model.nodes.length * BYTES_PER_NODE + 2 * found.constants,
    values: found.peak * overhead(how),
    results: found.outputs,
    flops: found.flops,
    liveness: found,
  };
};
