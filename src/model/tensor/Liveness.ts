/**
 * Predicts a run's memory beside its inputs: the bytes alive at each node in onnxruntime's order, their peak, and the flops of matrix
 * products.
 * Invariants: a value lives from its node to its last reader, an output to the end; renamed values take no memory of their own.
 */
import { executionOrder } from "./ExecutionOrder.ts";
import type { Attribute, DType, OnnxModel, OnnxNode } from "./Onnx.ts";
import { type Dim, type Shape, termsOf } from "./Shape.ts";

/** Values of the symbols that a model's inputs carry. */
export type Sizes = Readonly<Record<string, number>>;

export interface LiveValue {
  readonly name: string;
  /** Type of the node that makes it. */
  readonly type: string;
  readonly bytes: number;
}

export interface Liveness {
  /** Bytes of values alive while each node runs, in the order of execution. */
  readonly alive: readonly number[];
  /** The most of them. */
  readonly peak: number;
  /** Values alive at the peak, the largest first. */
  readonly atPeak: readonly LiveValue[];
  /** Bytes of the model's outputs. */
  readonly outputs: number;
  /** Floating-point operations of all matrix products, a multiplication with its addition being two. */
  readonly flops: number;
}

const BYTES = { float32: 4, int32: 4, int64: 8, uint8: 1, bool: 1 } as const satisfies Record<DType, number>;

/** Nodes whose result is their first input's memory under another shape or name. */
const RENAMES: ReadonlySet<string> = new Set(["Reshape", "Identity"]);

const product = (dims: readonly number[]): number => dims.reduce((total, dim) => total * dim, 1);

const sizeOf = (dim: Dim, sizes: ReadonlyMap<string, number>): number =>
  termsOf(dim).reduce((total, { coefficient, symbols }) => {
    const factors = symbols.map((symbol) => {
      const size = sizes.get(symbol);
      if (size === undefined) throw new RangeError(`the size "${symbol}" is not given`);
      return size;
    });
    return total + coefficient * product(factors);
  }, 0);

const intOf = (attribute: Attribute | undefined): number | undefined =>
  attribute !== undefined && "int" in attribute ? attribute.int : undefined;

/** The model's values as numbers of its sizes. */
class SizedModel {
  readonly #sizes: Map<string, number>;
  readonly #shapes = new Map<string, { readonly dtype: DType; readonly shape: Shape }>();
  readonly #makers = new Map<string, OnnxNode>();
  readonly #constants: ReadonlyMap<string, BigInt64Array>;

  constructor(model: OnnxModel, sizes: Sizes) {
    this.#sizes = new Map(Object.entries(sizes));
    for (const { name, ...type } of [...model.inputs, ...model.values]) this.#shapes.set(name, type);
    for (const { name, dims, dtype } of model.constants) this.#shapes.set(name, { dtype, shape: dims });
    for (const node of model.nodes) for (const name of node.outputs) this.#makers.set(name, node);
    const integers = model.constants.filter(({ dtype }) => dtype === "int64");
    this.#constants = new Map(integers.map(({ name, bytes }) => [name, new BigInt64Array(bytes.slice().buffer)]));
    for (const { symbol, value } of model.boundSymbols)
      if (this.#makers.has(value)) this.#sizes.set(symbol, Number(this.#integers(value)[0]));
  }

  /** The sizes of a value. */
  dims(name: string): readonly number[] {
    return this.#type(name).shape.map((dim) => sizeOf(dim, this.#sizes));
  }

  bytes(name: string): number {
    return product(this.dims(name)) * BYTES[this.#type(name).dtype];
  }

  #type(name: string): { readonly dtype: DType; readonly shape: Shape } {
    const type = this.#shapes.get(name);
    if (type === undefined) throw new RangeError(`there is no value "${name}"`);
    return type;
  }

  /** The numbers of an int64 value that is computed from sizes. */
  #integers(name: string): readonly bigint[] {
    const constant = this.#constants.get(name);
    if (constant !== undefined) return [...constant];
    const node = this.#makers.get(name);
    const [left, right] = node?.inputs ?? [];
    if (node === undefined || left === undefined) throw new RangeError(`"${name}" is not computed from sizes`);
    if (node.type === "Shape") {
      const { start, end } = node.attributes;
      return this.dims(left).slice(intOf(start), intOf(end)).map(BigInt);
    }
    const a = this.#integers(left);
    if (node.type === "Reshape" || node.type === "Cast") return a;
    if (right === undefined) throw new RangeError(`"${name}": ${node.type} of a size has no second operand`);
    const b = this.#integers(right);
    return a.map((each, i) => this.#arithmetic(node.type, each, b[i] ?? b[0] ?? 0n));
  }

  #arithmetic(type: string, a: bigint, b: bigint): bigint {
    switch (type) {
      case "Add":
        return a + b;
      case "Sub":
        return a - b;
      case "Mul":
        return a * b;
      case "Div":
        return a / b;
      case "Min":
        return a < b ? a : b;
      case "Max":
        return a > b ? a : b;
      default:
        throw new RangeError(`${type} of sizes is not known`);
    }
  }
}

/** Operations of one node, where it is a matrix product. */
const flopsOf = ({ attributes, inputs, outputs, type }: OnnxNode, model: SizedModel): number => {
  const [left] = inputs;
  const [result] = outputs;
  if (left === undefined || result === undefined || !["Gemm", "MatMul", "FusedMatMul", "MatMulNBits"].includes(type))
    return 0;
  const inner = model.dims(left).at(intOf(attributes.transA) === 1 ? -2 : -1) ?? 1;
  return 2 * inner * product(model.dims(result));
};

/** A value with its lifetime, as positions in the order of execution. */
interface Lifetime extends LiveValue {
  readonly from: number;
  until: number;
}

const lifetimes = (model: OnnxModel, ordered: readonly OnnxNode[], sizedModel: SizedModel): readonly Lifetime[] => {
  const owners = new Map<string, Lifetime>();
  const values: Lifetime[] = [];
  for (const [at, { inputs, outputs, type }] of ordered.entries()) {
    for (const name of inputs) {
      const owner = owners.get(name);
      if (owner !== undefined) owner.until = at;
    }
    const renamed = RENAMES.has(type) ? owners.get(inputs[0] ?? "") : undefined;
    for (const name of outputs) {
      if (name === "") continue;
      const value = renamed ?? { name, type, bytes: sizedModel.bytes(name), from: at, until: at };
      if (renamed === undefined) values.push(value);
      owners.set(name, value);
    }
  }
  for (const { name } of model.outputs) {
    const owner = owners.get(name);
    if (owner !== undefined) owner.until = ordered.length - 1;
  }
  return values;
};

/** Throws a RangeError where a size is missing that a value depends on. */
export const liveness = (model: OnnxModel, sizes: Sizes): Liveness => {
  const sizedModel = new SizedModel(model, sizes);
  const ordered = executionOrder(model).map((node) => model.nodes[node]!);
  const values = lifetimes(model, ordered, sizedModel);
  const changes = new Float64Array(ordered.length + 1);
  for (const { bytes, from, until } of values) {
    changes[from]! += bytes;
    changes[until + 1]! -= bytes;
  }
  let now = 0;
  const alive = ordered.map((_, at) => {
    now += changes[at]!;
    return now;
  });
  const peak = alive.reduce((most, bytes) => Math.max(most, bytes), 0);
  const at = alive.indexOf(peak);
  const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);
  return {
    alive,
    peak,
    atPeak: values
      .filter(({ from, until }) => from <= at && at <= until)
      .map(({ bytes, name, type }) => ({ name, type, bytes }))
      .sort((a, b) => b.bytes - a.bytes),
    outputs: sum(model.outputs.map(({ name }) => sizedModel.bytes(name))),
    flops: sum(ordered.map((node) => flopsOf(node, sizedModel))),
  };
};
