/**
 * What one session of onnxruntime takes beside its inputs: its own structures, and the values of a run, which `liveness` counts and the session's
 * arena keeps from run to run. The factors are measured (docs/plan.md).
 */
import { liveness, type Sizes } from "../../model/tensor/Liveness.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";

/** How a session's arena is used: with the memory of each shape planned ahead, or not, where runs are of one shape or of several. */
export type ArenaUse = "planned" | "one shape" | "several shapes";

/**
 * Bytes of an arena once every shape has been run more than once, at most. With planned memory the runtime takes one block for all values but the
 * results from the second run of a shape on, beside what the first run has left. Without it the arena's regions double; values of one shape do not
 * fit where those of another lay, so that several shapes fill the last region too.
 */
const arenaBytes = (alive: number, results: number, use: ArenaUse): number => {
  if (use === "planned") return 2.2 * (alive - results) + 1.5 * results;
  const once = 1.15 * alive;
  const regions = 2 ** Math.ceil(Math.log2(Math.max(1, alive)));
  return use === "one shape" ? once : Math.min(1.4 * alive, Math.max(once, regions));
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

/** Of a model's session whose largest run has `sizes`; null sizes are those of a session that is opened and not run. */
export const sessionBytes = (model: OnnxModel, sizes: Sizes | null, use: ArenaUse): SessionBytes => {
  const constants = model.constants.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  const resident = model.nodes.length * BYTES_PER_NODE + 2 * constants;
  if (sizes === null) return { resident: resident, values: 0, results: 0, flops: 0 };
  const { flops, outputs, peak } = liveness(model, sizes);
  return { resident: resident, values: arenaBytes(peak, outputs, use), results: outputs, flops };
};
