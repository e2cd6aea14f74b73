/**
 * The number format of a generator's model: float32, float16 for matrices and caches (tensor/HalfForm.ts), or int8 codes for linear
 * layers (tensor/Quantized.ts).
 * With int8, norms, biases, the embedding's rows and an adapter stay float32, and two inputs replace a layer's weight.
 */

import { add } from "../tensor/Elementwise.ts";
import type { Graph, Tensor } from "../tensor/Graph.ts";
import { gemm } from "../tensor/Linear.ts";
import { BLOCK, blocksOf, type QuantizedValues, quantize, quantizedProduct } from "../tensor/Quantized.ts";
import { ShapeError } from "../tensor/Shape.ts";
import { type DecoderConfig, EMBEDDING, OUTPUT, type ParameterSpec, parameters } from "./Architecture.ts";
import type { FrozenParameters } from "./Parameters.ts";

export const numberFormats = ["float32", "float16", "int8"] as const;
export type NumberFormat = (typeof numberFormats)[number];

export const codesOf = (name: string): string => `${name}.codes`;
export const scalesOf = (name: string): string => `${name}.scales`;

/** A matrix [out, in] that is held in codes under `name`, made from `parameter`. */
export interface CodedSpec {
  readonly name: string;
  readonly parameter: string;
  readonly shape: readonly [out: number, width: number];
}

const isLayer = ({ name, shape }: ParameterSpec): boolean => name !== EMBEDDING && shape.length === 2;

/** The matrices that a format holds in codes: all linear layers and the output matrix, also where that is the embedding. */
export const codedSpecs = (format: NumberFormat, config: DecoderConfig): readonly CodedSpec[] => {
  if (format !== "int8") return [];
  const specs = parameters(config);
  const coded = (name: string, { name: parameter, shape }: ParameterSpec): readonly CodedSpec[] => {
    const [out, width] = shape;
    return out === undefined || width === undefined ? [] : [{ name, parameter, shape: [out, width] }];
  };
  const tied = config.tieEmbedding ? specs.filter(({ name }) => name === EMBEDDING) : [];
  return [
    ...specs.filter(isLayer).flatMap((spec) => coded(spec.name, spec)),
    ...tied.flatMap((spec) => coded(OUTPUT, spec)),
  ];
};

/** Returns the specs that are read in float32, not in codes. */
export const uncodedSpecs = (
  coded: readonly CodedSpec[],
  specs: readonly ParameterSpec[],
): readonly ParameterSpec[] => {
  const replaced = new Set(coded.map(({ name }) => name));
  return specs.filter(({ name }) => !replaced.has(name));
};

/** Returns the parameters that are read in float32, not in codes. */
export const uncodedParameters = (
  coded: readonly CodedSpec[],
  { specs, tensors }: FrozenParameters,
): FrozenParameters => {
  const left = new Set(uncodedSpecs(coded, specs));
  return { specs: [...left], tensors: tensors.filter((_, i) => left.has(specs[i]!)) };
};

/** The graph inputs of the matrices in codes; a session takes them as constants. */
export const codedInputs = (graph: Graph, coded: readonly CodedSpec[]): readonly (readonly [string, Tensor])[] =>
  coded.flatMap(({ name, shape: [out, width] }) => [
    [codesOf(name), graph.input(codesOf(name), "uint8", [out, blocksOf(width), BLOCK])] as const,
    [scalesOf(name), graph.input(scalesOf(name), "float32", [out * blocksOf(width)])] as const,
  ]);

/** x [rows, in] times the matrix `name` [out, in], transposed, in whichever format the graph holds it, plus a bias: [rows, out]. */
export const product = (
  weights: ReadonlyMap<string, Tensor>,
  name: string,
  x: Tensor,
  bias?: Tensor | undefined,
): Tensor => {
  const [codes, scales] = [weights.get(codesOf(name)), weights.get(scalesOf(name))];
  if (codes !== undefined && scales !== undefined) {
    const y = quantizedProduct(x, { codes, scales });
    return bias === undefined ? y : add(y, bias);
  }
  const matrix = weights.get(name);
  if (matrix === undefined) throw new ShapeError("product", [x.shape], `there is no parameter "${name}"`);
  return gemm(x, matrix, { transB: true, bias });
};

/** Codes and scales of a matrix, with its shape. Structured-cloneable. */
export interface CodedMatrix extends CodedSpec, QuantizedValues {}

/** Bytes of a matrix in codes, with its scales. */
export const codedBytes = ({ shape: [out, width] }: CodedSpec): number =>
  out * blocksOf(width) * (BLOCK + Float32Array.BYTES_PER_ELEMENT);

/** The matrices of a version in codes; `memory` makes their buffers. Throws a RangeError where `values` lacks a parameter. */
export const encodeMatrices = (
  coded: readonly CodedSpec[],
  { specs, tensors }: FrozenParameters,
  memory: (bytes: number) => ArrayBufferLike = (bytes) => new ArrayBuffer(bytes),
): readonly CodedMatrix[] => {
  const valuesOf = new Map(specs.map(({ name }, i) => [name, tensors[i]!]));
  return coded.map((each) => {
    const values = valuesOf.get(each.parameter);
    if (values === undefined) throw new RangeError(`there is no parameter "${each.parameter}"`);
    const blocks = each.shape[0] * blocksOf(each.shape[1]);
    const values8 = {
      codes: new Uint8Array(memory(blocks * BLOCK)),
      scales: new Float32Array(memory(blocks * Float32Array.BYTES_PER_ELEMENT)),
    };
    quantize(values, each.shape, values8);
    return { ...each, ...values8 };
  });
};
