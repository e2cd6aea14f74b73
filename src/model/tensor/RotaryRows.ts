/**
 * The rows of rotary tables that a run reads, computed in the graph, for contexts whose whole tables would be large constants.
 * Invariant: a row's bits are a function of its position alone, whatever else is read with it.
 */
import { add, div, mul, neg, sub } from "./Elementwise.ts";
import type { Tensor } from "./Graph.ts";
import { gather } from "./Indexing.ts";
import { ShapeError } from "./Shape.ts";
import { type RotaryTables, rotaryTables } from "./Transformer.ts";

/**
 * Returns cos and sin of `positions` int64 [rows], each below `limit`, as tables [rows, headDim / 2].
 * A position is a multiple of a stride plus a rest, whose angles are constants of about sqrt(limit) rows, rounded from double
 * precision.
 * cos(a + b) = cos a cos b - sin a sin b, and sin(a + b) = sin a cos b + cos a sin b.
 */
export const rotaryRows = (positions: Tensor, limit: number, frequencies: Float64Array): RotaryTables => {
  if (positions.shape.length !== 1) throw new ShapeError("rotaryRows", [positions.shape], "positions must be [rows]");
  const { graph } = positions;
  const stride = 2 ** Math.ceil(Math.log2(limit) / 2);
  const strides = div(positions, stride);
  const rests = sub(positions, mul(strides, stride));
  const coarse = rotaryTables(graph, Math.ceil(limit / stride), frequencies, stride);
  const fine = rotaryTables(graph, stride, frequencies);
  const [cosA, sinA] = [gather(coarse.cos, strides), gather(coarse.sin, strides)];
  const [cosB, sinB] = [gather(fine.cos, rests), gather(fine.sin, rests)];
  const sin = add(mul(sinA, cosB), mul(cosA, sinB));
  return { cos: sub(mul(cosA, cosB), mul(sinA, sinB)), sin, minusSin: neg(sin) };
};
