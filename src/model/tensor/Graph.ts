/**
 * The graph a tensor program is written into: inputs, constants, nodes and named outputs.
 * Operations (Elementwise.ts, Reduction.ts, ...) add nodes through `node`; `toModel` describes what the outputs need.
 * A node is one ONNX node, an equal node is never added twice, and nodes stand in topological order.
 */
import { type Emission, modelOf } from "./Emission.ts";
import type { Attributes, DType, OnnxModel } from "./Onnx.ts";
import { canonical, type Dim, format, isSymbol, type Shape, ShapeError, termsOf } from "./Shape.ts";

/** A value of the graph. `shape` is static in rank, symbolic in size. */
export interface Tensor {
  readonly graph: Graph;
  readonly id: number;
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/**
 * The vector-Jacobian product of a node: gradients of its outputs (undefined: none flows there) to gradients of its
 * inputs, in the order of the inputs. `wanted` says of each input whether anyone asks for its gradient; one that is not may be left out.
 */
export type Vjp = (
  gradients: ReadonlyArray<Tensor | undefined>,
  outputs: readonly Tensor[],
  wanted: readonly boolean[],
) => ReadonlyArray<Tensor | undefined> | undefined;

/** The source of a tensor. */
export interface Producer {
  readonly type: string;
  readonly inputs: ReadonlyArray<Tensor | undefined>;
  readonly outputs: readonly Tensor[];
  readonly vjp: Vjp | undefined;
  readonly emission: Emission<Tensor>;
}

export interface NodeSpec {
  readonly type: string;
  readonly inputs: ReadonlyArray<Tensor | undefined>;
  readonly outputs: readonly TensorType[];
  readonly domain?: string;
  readonly attributes?: Attributes;
  readonly vjp?: Vjp | undefined;
}

const bytesOf = (dtype: DType, values: ArrayLike<number>): Uint8Array => {
  switch (dtype) {
    case "float32":
      return new Uint8Array(new Float32Array(values).buffer);
    case "int32":
      return new Uint8Array(Int32Array.from(values).buffer);
    case "int64":
      return new Uint8Array(BigInt64Array.from(Array.from(values), (value) => BigInt(value)).buffer);
    case "uint8":
    case "bool":
      return Uint8Array.from(values);
  }
};

const first = ([tensor]: readonly Tensor[]): Tensor => {
  if (tensor === undefined) throw new RangeError("a node without outputs");
  return tensor;
};

/** A tensor program: inputs, constants, nodes and outputs. */
export class Graph {
  readonly name: string;
  readonly #producers: Producer[] = [];
  readonly #producerOf: Producer[] = [];
  readonly #known = new Map<string, Producer>();
  readonly #inputs = new Map<string, Tensor>();
  readonly #outputs = new Map<string, Tensor>();
  readonly #boundSymbols = new Map<string, Tensor>();

  constructor(name = "graph") {
    this.name = name;
  }

  /** A value given at run time. Symbols in `shape` are bound by the first input that carries them alone on an axis. */
  input(name: string, dtype: DType, shape: Shape): Tensor {
    this.#claim("input", name, shape);
    const { outputs } = this.#add("input", [], [{ dtype, shape }], undefined, { kind: "input", name });
    const tensor = first(outputs);
    this.#inputs.set(name, tensor);
    return tensor;
  }

  /** Names a result. The same tensor may carry several names. */
  output(name: string, tensor: Tensor): void {
    this.#claim("output", name, tensor.shape);
    this.#outputs.set(name, tensor);
  }

  get inputs(): ReadonlyMap<string, Tensor> {
    return this.#inputs;
  }

  get outputs(): ReadonlyMap<string, Tensor> {
    return this.#outputs;
  }

  get boundSymbols(): ReadonlyMap<string, Tensor> {
    return this.#boundSymbols;
  }

  constant(values: number | ArrayLike<number>, dtype: DType = "float32", dims?: readonly number[]): Tensor {
    const list = typeof values === "number" ? [values] : values;
    const shape = dims ?? (typeof values === "number" ? [] : [list.length]);
    if (shape.reduce((size, dim) => size * dim, 1) !== list.length)
      throw new ShapeError("constant", [shape], `${list.length} values do not fill it`);
    const bytes = bytesOf(dtype, list);
    const key = bytes.length <= 256 ? `constant ${dtype} ${format(shape)} ${bytes.join()}` : undefined;
    const existing = key === undefined ? undefined : this.#known.get(key);
    const producer =
      existing ?? this.#add("constant", [], [{ dtype, shape }], undefined, { kind: "constant", dims: shape, bytes });
    if (key !== undefined) this.#known.set(key, producer);
    return first(producer.outputs);
  }

  /** Adds one ONNX node, or finds the equal one that is already there. */
  node(spec: NodeSpec): readonly Tensor[] {
    const domain = spec.domain ?? "";
    const attributes = spec.attributes ?? {};
    for (const input of spec.inputs)
      if (input !== undefined && input.graph !== this)
        throw new ShapeError(spec.type, [input.shape], "the tensor belongs to another graph");
    const key = `${domain}.${spec.type}/${spec.outputs.length} ${JSON.stringify(attributes)} ${spec.inputs.map((input) => input?.id ?? "-").join()}`;
    const existing = this.#known.get(key);
    if (existing !== undefined) return existing.outputs;
    const producer = this.#add(spec.type, spec.inputs, spec.outputs, spec.vjp, { kind: "node", domain, attributes });
    this.#known.set(key, producer);
    return producer.outputs;
  }

  /** Adds a node of which the first output alone is used. */
  result(spec: NodeSpec): Tensor {
    return first(this.node(spec));
  }

  /**
   * Gives `results`, computed from `inputs` in any way, a gradient of their own. Used where the derivative has a cheaper
   * form than the chain rule over the steps; without `vjp` no gradient passes.
   */
  alias(type: string, inputs: readonly Tensor[], results: readonly Tensor[], vjp?: Vjp): readonly Tensor[] {
    return this.#add(type, inputs, results, vjp, { kind: "alias", of: results }).outputs;
  }

  /** Gives one result a gradient of its own. */
  aliasOf(type: string, inputs: readonly Tensor[], result: Tensor, vjp?: Vjp): Tensor {
    return first(this.alias(type, inputs, [result], vjp));
  }

  /** Gives a new symbol the run-time value of an int64 vector of one element, e.g. the rounded half of another size. */
  bind(symbol: string, value: Tensor): void {
    if (!isSymbol(symbol)) throw new ShapeError("bind", [value.shape], `"${symbol}" is not a symbol`);
    const existing = this.#boundSymbols.get(symbol);
    if (existing !== undefined && existing !== value)
      throw new ShapeError("bind", [value.shape], `"${symbol}" is already bound to another value`);
    this.#boundSymbols.set(symbol, value);
  }

  /** The run-time value of a size as an int64 vector of one element. */
  size(dim: Dim): Tensor {
    if (typeof dim === "number") return this.constant([dim], "int64");
    if (isSymbol(dim)) {
      const bound = this.#boundSymbols.get(dim);
      if (bound !== undefined) return bound;
      for (const input of this.#inputs.values()) {
        const axis = input.shape.indexOf(dim);
        if (axis >= 0)
          return this.result({
            type: "Shape",
            inputs: [input],
            attributes: { start: { int: axis }, end: { int: axis + 1 } },
            outputs: [{ dtype: "int64", shape: [1] }],
          });
      }
      throw new ShapeError("size", [[dim]], `no input carries the symbol "${dim}"`);
    }
    const combine = (type: string, a: Tensor, b: Tensor): Tensor =>
      this.result({ type, inputs: [a, b], outputs: [{ dtype: "int64", shape: [1] }] });
    return termsOf(dim)
      .map(({ coefficient, symbols }) => {
        const factors = symbols.map((symbol) => this.size(symbol));
        if (coefficient !== 1 || factors.length === 0) factors.push(this.constant([coefficient], "int64"));
        return factors.reduce((a, b) => combine("Mul", a, b));
      })
      .reduce((a, b) => combine("Add", a, b));
  }

  /** The run-time values of several sizes as one int64 vector. */
  sizes(dims: Shape): Tensor {
    if (dims.every((dim) => typeof dim === "number")) return this.constant(dims, "int64");
    const parts: Tensor[] = [];
    let run: number[] = [];
    const flush = () => {
      if (run.length > 0) parts.push(this.constant(run, "int64"));
      run = [];
    };
    for (const dim of dims) {
      if (typeof dim === "number") run.push(dim);
      else {
        flush();
        parts.push(this.size(dim));
      }
    }
    flush();
    if (parts.length === 1) return first(parts);
    return this.result({
      type: "Concat",
      inputs: parts,
      attributes: { axis: { int: 0 } },
      outputs: [{ dtype: "int64", shape: [dims.length] }],
    });
  }

  /** Returns the producer of a tensor of this graph. */
  producer(tensor: Tensor): Producer {
    const producer = this.#producerOf[tensor.id];
    if (producer === undefined) throw new ShapeError("producer", [tensor.shape], "the tensor belongs to another graph");
    return producer;
  }

  /** Everything added so far, in topological order. */
  get producers(): readonly Producer[] {
    return this.#producers;
  }

  /** The model of all named outputs. Nodes that no output needs are left out; every input stays. */
  toModel(): OnnxModel {
    return modelOf(this);
  }

  /** Inputs and outputs share one space of names. */
  #claim(operation: string, name: string, shape: Shape): void {
    const holder = this.#inputs.has(name) ? "input" : this.#outputs.has(name) ? "output" : undefined;
    if (holder !== undefined) throw new ShapeError(operation, [shape], `"${name}" is already an ${holder}`);
  }

  #add(
    type: string,
    inputs: ReadonlyArray<Tensor | undefined>,
    types: readonly TensorType[],
    vjp: Vjp | undefined,
    emission: Producer["emission"],
  ): Producer {
    const outputs = types.map(({ dtype, shape }, index) => ({
      graph: this,
      id: this.#producerOf.length + index,
      dtype,
      shape: shape.map(canonical),
    }));
    const producer: Producer = { type, inputs, outputs, vjp, emission };
    this.#producers.push(producer);
    for (let index = 0; index < outputs.length; index += 1) this.#producerOf.push(producer);
    return producer;
  }
}
