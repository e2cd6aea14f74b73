/**
 * Predicts the memory of one session of onnxruntime beside its inputs: its own structures, and the values of a run. `liveness` counts these
 * values, and the session's arena keeps them from run to run. The factors are measured (docs/plan.md).
 */
import { liveness, type Sizes } from "../../model/tensor/Liveness.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";

/** A session plans the memory of each shape ahead, or its arena grows as its runs have one shape or several. */
export type ArenaUse = "planned" | "one shape" | "several shapes";

/**
 * Bytes of an arena once every shape has been run more than once, at most. With planned memory the runtime takes one block for all values but the
 * results from the second run of a shape on, beside what the first run has left. Without it values of one shape do not fit where those of another
 * lay, and regions double, so that several shapes take more.
 */
const arenaBytes = (alive: number, results: number, use: ArenaUse): number => {
  if (use === "planned") return 2.2 * (alive - results) + 1.5 * results;
  return (use === "one shape" ? 1.15 : 1.45) * alive;
};

/** A session's nodes, kernels and optimised graph, and what its thread keeps of the model, per node. */
const BYTES_PER_NODE = 8_000;

export interface SessionBytes {
  /** From opening on. */
  readonly resident: number;
  /** Values of a run, which stay in the arena. */
  readonly values: number;
  /** Results as JavaScript has them: the runtime copies every output. */
  readonly results: number;
  /** Operations of one run. */
  readonly flops: number;
}

/** Predicts for a model whose largest run has `sizes`; null sizes stand for a session that is opened and not run. */
export const sessionBytes = (model: OnnxModel, sizes: Sizes | null, use: ArenaUse): SessionBytes => {
  const constants = model.constants.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  const resident = model.nodes.length * BYTES_PER_NODE + 2 * constants;
  if (sizes === null) return { resident, values: 0, results: 0, flops: 0 };
  const { flops, outputs, peak } = liveness(model, sizes);
  return { resident, values: arenaBytes(peak, outputs, use), results: outputs, flops };
};
