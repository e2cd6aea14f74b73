/**
 * Rotary positions of a decoder: the frequencies of its scaling, and the tables of cos and sin that a graph reads.
 * Short contexts have whole tables as constants; for long ones a run computes the rows it reads.
 * Invariant: the config alone decides which, so generator and learner rotate a position by the same bits.
 */
import { add } from "../tensor/Elementwise.ts";
import type { Tensor } from "../tensor/Graph.ts";
import { iota } from "../tensor/Indexing.ts";
import { reshape } from "../tensor/Layout.ts";
import { rotaryRows } from "../tensor/RotaryRows.ts";
import { type Dim, product } from "../tensor/Shape.ts";
import { type RotaryTables, rotaryTables } from "../tensor/Transformer.ts";
import type { DecoderConfig, RotaryScaling } from "./Architecture.ts";

/** Most values of a constant table: a MiB of float32. */
const LARGEST_TABLE = 2 ** 18;

/** Llama 3.1's stretch: wavelengths that the pretraining saw often stay, those it hardly saw grow by the factor, those between by a blend. */
const llama3 = (frequency: number, scaling: Extract<RotaryScaling, { readonly type: "llama3" }>): number => {
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalMaxPositions } = scaling;
  const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
  if (turns > highFrequencyFactor) return frequency;
  if (turns < lowFrequencyFactor) return frequency / factor;
  const kept = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return kept * frequency + ((1 - kept) * frequency) / factor;
};

/** Radians a position of each pair of a head's elements, [headDim / 2]: theta^(-2i / headDim) (Su et al. 2021), scaled. */
export const rotaryFrequencies = (
  config: Pick<DecoderConfig, "headDim" | "ropeScaling" | "ropeTheta">,
): Float64Array => {
  const { headDim, ropeScaling: scaling, ropeTheta } = config;
  return Float64Array.from({ length: headDim / 2 }, (_, i) => {
    const frequency = ropeTheta ** (-(2 * i) / headDim);
    if (scaling.type === "linear") return frequency / scaling.factor;
    return scaling.type === "llama3" ? llama3(frequency, scaling) : frequency;
  });
};

/** The inputs of `rotary` beside the heads. */
export interface Rotation {
  readonly positions: Tensor;
  readonly tables: RotaryTables;
}

/** The rotation of columns at `positions` int64, [batch, time], or [1] for the position of the first column of every row. */
export const rotation = (config: DecoderConfig, positions: Tensor, batch: Dim, time: Dim): Rotation => {
  const { graph } = positions;
  const { maxPositions } = config;
  const frequencies = rotaryFrequencies(config);
  if (maxPositions * frequencies.length <= LARGEST_TABLE)
    return { positions, tables: rotaryTables(graph, maxPositions, frequencies) };
  if (positions.shape.length === 1) {
    const columns = add(positions, iota(graph, time));
    return { positions: graph.constant([0], "int64"), tables: rotaryRows(columns, maxPositions, frequencies) };
  }
  const rows = product(batch, time);
  return {
    positions: reshape(iota(graph, rows), [batch, time]),
    tables: rotaryRows(reshape(positions, [rows]), maxPositions, frequencies),
  };
};
