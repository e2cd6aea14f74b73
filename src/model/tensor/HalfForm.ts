/**
 * Rewrites a model so that named inputs and outputs, weights and caches, are float16, and products with them run in 16 bits.
 * Everything between products stays float32, as do small operands.
 * Invariants: other inputs and outputs keep their types; operators that only move a float16 value keep it float16.
 */
import type { OnnxModel, OnnxNode } from "./Onnx.ts";

/** Operators whose results are elements of their operands, with the first operand that is data. */
const firstDataOperand: Readonly<Record<string, number>> = {
  Concat: 0,
  Gather: 0,
  Identity: 0,
  Reshape: 0,
  Transpose: 0,
  Where: 1,
};

const products: ReadonlySet<string> = new Set(["Gemm", "MatMul", "FusedMatMul"]);

const TYPE_CODE = { float32: 1, float16: 10 } as const;
type Float = keyof typeof TYPE_CODE;

const toFloat = ({ attributes }: OnnxNode): boolean => {
  const { to } = attributes;
  return to !== undefined && "int" in to && to.int === TYPE_CODE.float32;
};

/** Collects the rewritten nodes and the type of every value. */
class HalfRewriter {
  readonly nodes: OnnxNode[] = [];
  /** True for values that are float32 in the given model. */
  readonly #floats: Map<string, boolean>;
  /** Values that are float16 now. */
  readonly #half: Set<string>;
  readonly #outputs: ReadonlyMap<string, Float>;
  readonly #casts = new Set<string>();

  constructor(model: OnnxModel, half: ReadonlySet<string>) {
    const tensors = [...model.inputs, ...model.values, ...model.outputs, ...model.constants];
    this.#floats = new Map(tensors.map(({ dtype, name }) => [name, dtype === "float32"]));
    this.#half = new Set(model.inputs.map(({ name }) => name).filter((name) => half.has(name)));
    this.#outputs = new Map(model.outputs.map(({ name }) => [name, half.has(name) ? "float16" : "float32"]));
  }

  add(node: OnnxNode): void {
    const from = firstDataOperand[node.type];
    const isProduct = products.has(node.type);
    const halved =
      (from !== undefined || isProduct) && node.inputs.slice(from ?? 0).some((name) => this.#half.has(name));
    const outputType: Float = halved ? "float16" : "float32";
    // a size is the same in any type
    const inputs = node.type === "Shape" ? node.inputs : node.inputs.map((name) => this.#as(name, outputType));
    const casts: (readonly [from: string, to: string, type: Float])[] = [];
    const outputs = node.outputs.map((name) => {
      if (!this.#isFloat(name, node)) return name;
      const type = this.#outputs.get(name) ?? (isProduct ? "float32" : outputType);
      if (type === "float16") this.#half.add(name);
      if (type === outputType) return name;
      const raw = `${name}~${outputType}`;
      casts.push([raw, name, type]);
      return raw;
    });
    this.nodes.push({ ...node, inputs, outputs });
    for (const cast of casts) this.#cast(...cast);
  }

  /** A value that nothing describes was added by another rewriting: it is of the type of the operands, where it is no cast. */
  #isFloat(name: string, { type, ...node }: OnnxNode): boolean {
    const recorded = this.#floats.get(name);
    if (recorded !== undefined) return recorded;
    const isFloat = type === "Cast" ? toFloat({ type, ...node }) : node.inputs.some((input) => this.#floats.get(input));
    this.#floats.set(name, isFloat);
    return isFloat;
  }

  /** The value under the name that it has in a type; what is no float keeps its own. */
  #as(name: string, type: Float): string {
    if (this.#floats.get(name) !== true || this.#half.has(name) === (type === "float16")) return name;
    const other = `${name}~as ${type}`;
    if (!this.#casts.has(other)) this.#cast(name, other, type);
    this.#casts.add(other);
    return other;
  }

  #cast(from: string, to: string, type: Float): void {
    const attributes = { to: { int: TYPE_CODE[type] } };
    this.nodes.push({
      type: "Cast",
      domain: "",
      name: `${from} to ${type}`,
      inputs: [from],
      outputs: [to],
      attributes,
    });
  }
}

/** The model with the inputs and outputs of these names in float16. For a device, of the device's form (DeviceForm.ts). */
export const halfForm = (model: OnnxModel, names: Iterable<string>): OnnxModel => {
  const half = new Set(names);
  const halving = new HalfRewriter(model, half);
  for (const node of model.nodes) halving.add(node);
  return { ...model, nodes: halving.nodes, half, values: [] };
};
