/**
 * Rewrites a model in operators that a GPU provider has kernels for. On WebGPU (onnxruntime 1.30) FusedMatMul, LogSoftmax and int64
 * comparisons run on the CPU, with copies, and RMS norm omits its second output.
 * Invariant: inputs, outputs and their values are those of the given model, up to rounding.
 */
import { type Attributes, type DType, MICROSOFT, type OnnxConstant, type OnnxModel, type OnnxNode } from "./Onnx.ts";

interface Value {
  readonly dtype: DType;
  readonly rank: number;
  readonly width: number | undefined;
}

/** Collects the nodes that replace one node, under unique names. */
class NodeBuilder {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxConstant[] = [];
  readonly #prefix: string;
  #count = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Adds a node of one output; `output` names the last of them. */
  add(type: string, inputs: readonly string[], attributes: Attributes = {}, output = this.#name()): string {
    this.nodes.push({ type, domain: "", name: `${type} of ${output}`, inputs, outputs: [output], attributes });
    return output;
  }

  scalar(value: number): string {
    return this.#constant("float32", [], new Uint8Array(Float32Array.of(value).buffer));
  }

  axes(...axes: readonly number[]): string {
    return this.#constant("int64", [axes.length], new Uint8Array(BigInt64Array.from(axes, BigInt).buffer));
  }

  #constant(dtype: DType, dims: readonly number[], bytes: Uint8Array): string {
    const name = this.#name();
    this.constants.push({ name, dtype, dims, bytes });
    return name;
  }

  #name(): string {
    return `${this.#prefix}~${this.#count++}`;
  }
}

type ValueLookup = (name: string) => Value | undefined;
type Rule = (node: OnnxNode, known: ValueLookup, spelling: NodeBuilder) => boolean;

const intOf = (node: OnnxNode, name: string): number => {
  const attribute = node.attributes[name];
  return attribute !== undefined && "int" in attribute ? attribute.int : 0;
};

const floatOf = (node: OnnxNode, name: string, otherwise: number): number => {
  const attribute = node.attributes[name];
  return attribute !== undefined && "float" in attribute ? attribute.float : otherwise;
};

const keepDims: Attributes = { keepdims: { int: 1 } };

/** alpha a' b', the operands turned where they are flagged. */
const product: Rule = (node, lookup, builder) => {
  const [a = "", b = ""] = node.inputs;
  const [output] = node.outputs;
  const transposed = (name: string, flag: string): string | undefined => {
    if (intOf(node, flag) === 0) return name;
    const rank = lookup(name)?.rank;
    if (rank === undefined) return undefined;
    const axes = Array.from({ length: rank }, (_, axis) => axis);
    const perm = [...axes.slice(0, -2), rank - 1, rank - 2];
    return builder.add("Transpose", [name], { perm: { ints: perm } });
  };
  const alpha = floatOf(node, "alpha", 1);
  const [left, right] = [transposed(a, "transA"), transposed(b, "transB")];
  if (left === undefined || right === undefined) return false;
  if (alpha === 1) builder.add("MatMul", [left, right], {}, output);
  else builder.add("Mul", [builder.add("MatMul", [left, right]), builder.scalar(alpha)], {}, output);
  return true;
};

/** x - max - log sum exp(x - max) over the last axis. */
const logSoftmax: Rule = ({ inputs: [x = ""], outputs: [output] }, _, builder) => {
  const last = builder.axes(-1);
  const below = builder.add("Sub", [x, builder.add("ReduceMax", [x, last], keepDims)]);
  const sum = builder.add("ReduceSum", [builder.add("Exp", [below]), last], keepDims);
  builder.add("Sub", [below, builder.add("Log", [sum])], {}, output);
  return true;
};

/** Whole numbers as int32: ids and positions fit. */
const comparison: Rule = (node, lookup, builder) => {
  if (!node.inputs.every((name) => lookup(name)?.dtype === "int64")) return false;
  const narrow = node.inputs.map((name) => builder.add("Cast", [name], { to: { int: 6 } }));
  builder.add(node.type, narrow, {}, node.outputs[0]);
  return true;
};

/** The norm without its second output, and that output by itself: 1 / sqrt(mean(x^2) + epsilon). */
const norm: Rule = (node, lookup, builder) => {
  const [x = ""] = node.inputs;
  const [output = "", inverse] = node.outputs;
  const width = lookup(x)?.width;
  if (inverse === undefined || width === undefined) return false;
  builder.nodes.push({ ...node, outputs: [output] });
  const squares = builder.add("ReduceSumSquare", [x, builder.axes(-1)], keepDims);
  const mean = builder.add("Mul", [squares, builder.scalar(1 / width)]);
  const root = builder.add("Sqrt", [builder.add("Add", [mean, builder.scalar(floatOf(node, "epsilon", 1e-5))])]);
  builder.add("Reciprocal", [root], {}, inverse);
  return true;
};

const rules: Readonly<Record<string, Rule>> = {
  [`${MICROSOFT}.FusedMatMul`]: product,
  ".LogSoftmax": logSoftmax,
  ".Equal": comparison,
  ".Less": comparison,
  ".LessOrEqual": comparison,
  ".SimplifiedLayerNormalization": norm,
};

/** The model as a GPU takes it; every input and output keeps its name and type. */
export const deviceForm = (model: OnnxModel): OnnxModel => {
  const values = new Map<string, Value>();
  for (const { dtype, name, shape } of [...model.inputs, ...model.values, ...model.outputs]) {
    const last = shape.at(-1);
    values.set(name, { dtype, rank: shape.length, width: typeof last === "number" ? last : undefined });
  }
  for (const { dims, dtype, name } of model.constants)
    values.set(name, { dtype, rank: dims.length, width: dims.at(-1) });
  const nodes: OnnxNode[] = [];
  const constants = [...model.constants];
  for (const [index, node] of model.nodes.entries()) {
    const rule = rules[`${node.domain}.${node.type}`];
    const builder = new NodeBuilder(`~${index}`);
    if (rule?.(node, (name) => values.get(name), builder)) {
      nodes.push(...builder.nodes);
      constants.push(...builder.constants);
    } else nodes.push(node);
  }
  return { ...model, nodes, constants };
};
