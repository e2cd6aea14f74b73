/**
 * Runs a model's nodes as tfjs operations: tensors by input name in, tensors by output name out. Sizes come from the inputs' shapes at each run.
 * int64 is int32, as tfjs has no other integer.
 * Invariants: between two runs the only tensors of the executor are the model's constants; a run that fails leaves none behind.
 */
import type { DType, OnnxConstant, OnnxModel, OnnxNode } from "../../tensor/Onnx.ts";
import type { Call } from "./Call.ts";
import { computeOnHost, type HostInts, shapeOf } from "./HostInts.ts";
import { operatorOf } from "./operators/table.ts";
import { checkOperators, hostConstants, planSteps, type Step } from "./Plan.ts";
import type { Tensor, Tf } from "./peer.ts";

export type Tensors = Readonly<Record<string, Tensor>>;

export interface ForwardOptions {
  /** Outputs wanted; all by default. */
  readonly fetches?: readonly string[];
  /** Use only operations that have a gradient in tfjs, and keep what its tape may read. Default false. */
  readonly differentiable?: boolean;
}

const INT32 = 2 ** 31;

/** int64 as int32. Raises a RangeError that names the value where one does not fit. */
export const toInt32 = (name: string, values: BigInt64Array): Int32Array =>
  Int32Array.from(values, (value) => {
    const number = Number(value);
    if (number < -INT32 || number >= INT32)
      throw new RangeError(`"${name}" has the value ${value}, and tfjs holds integers below ${INT32} only`);
    return number;
  });

const typeOf = {
  float32: "float32",
  int32: "int32",
  int64: "int32",
  uint8: "int32",
  bool: "bool",
} as const satisfies Record<DType, string>;

const dataOf = ({ bytes, dtype, name }: OnnxConstant): Float32Array | Int32Array | Uint8Array => {
  const { buffer } = bytes.slice();
  switch (dtype) {
    case "float32":
      return new Float32Array(buffer);
    case "int32":
      return new Int32Array(buffer);
    case "int64":
      return toInt32(name, new BigInt64Array(buffer));
    case "uint8":
      return Int32Array.from(new Uint8Array(buffer));
    case "bool":
      return new Uint8Array(buffer);
  }
};

/** The values of one run. */
interface Values {
  readonly tensors: Map<string, Tensor>;
  readonly sizes: Map<string, HostInts>;
}

export class Executor {
  readonly model: OnnxModel;
  readonly #tf: Tf;
  readonly #constants: ReadonlyMap<string, Tensor>;
  readonly #sizes: ReadonlyMap<string, HostInts>;
  /** By the outputs wanted. */
  readonly #plans = new Map<string, readonly Step[]>();

  /** Throws `UnsupportedNode` for a model with an operator that it does not have. */
  constructor(tf: Tf, model: OnnxModel) {
    checkOperators(model);
    this.model = model;
    this.#tf = tf;
    this.#sizes = hostConstants(model);
    this.#constants = new Map(
      model.constants.map((constant) => [
        constant.name,
        tf.keep(tf.tensor(dataOf(constant), [...constant.dims], typeOf[constant.dtype])),
      ]),
    );
  }

  /** The caller owns the results. Raises a RangeError where an input is missing. */
  forward(feeds: Tensors, { differentiable = false, fetches }: ForwardOptions = {}): Record<string, Tensor> {
    const names = fetches ?? this.model.outputs.map(({ name }) => name);
    const steps = this.#stepsFor(names);
    return this.#tf.tidy(() => {
      const values: Values = { tensors: new Map(this.#constants), sizes: new Map(this.#sizes) };
      for (const { name } of this.model.inputs) {
        const feed = feeds[name];
        if (feed === undefined) throw new RangeError(`the input "${name}" of ${this.model.name} is missing`);
        values.tensors.set(name, feed);
      }
      for (const step of steps) this.#execute(step, values, differentiable);
      return Object.fromEntries(names.map((name) => [name, this.#tensor(values, name)]));
    });
  }

  dispose(): void {
    for (const constant of this.#constants.values()) constant.dispose();
  }

  #stepsFor(names: readonly string[]): readonly Step[] {
    const key = names.join("\n");
    const plan = this.#plans.get(key);
    if (plan !== undefined) return plan;
    const steps = planSteps(this.model, names);
    this.#plans.set(key, steps);
    return steps;
  }

  #execute({ node, place, releases }: Step, values: Values, differentiable: boolean): void {
    const [first = ""] = node.outputs;
    if (place === "shape") {
      const [input = ""] = node.inputs;
      values.sizes.set(first, shapeOf(node, values.sizes.get(input)?.dims ?? this.#tensor(values, input).shape));
    } else if (place === "host") {
      values.sizes.set(
        first,
        computeOnHost(
          node,
          node.inputs.flatMap((name) => values.sizes.get(name) ?? []),
        ),
      );
    } else {
      const outputs = this.#tf.tidy(() => {
        const results = operatorOf(node)?.(this.#call(node, values, differentiable)) ?? [];
        return "dtype" in results ? [results] : [...results];
      });
      for (const [i, tensor] of outputs.entries()) {
        const name = node.outputs[i] ?? "";
        if (name === "") tensor.dispose();
        else values.tensors.set(name, tensor);
      }
    }
    if (differentiable) return;
    for (const name of releases) {
      values.tensors.get(name)?.dispose();
      values.tensors.delete(name);
    }
  }

  #call(node: OnnxNode, values: Values, differentiable: boolean): Call {
    const nameOf = (index: number): string => {
      const name = node.inputs[index] ?? "";
      if (name === "") throw new RangeError(`node "${node.name}" has no input ${index}`);
      return name;
    };
    return {
      tf: this.#tf,
      node,
      differentiable,
      has: (index) => (node.inputs[index] ?? "") !== "",
      input: (index) => this.#tensor(values, nameOf(index)),
      ints: (index) => {
        const name = nameOf(index);
        return values.sizes.get(name)?.values ?? Array.from(this.#tensor(values, name).dataSync());
      },
    };
  }

  /** A value as a tensor; a size is put on the device for it. */
  #tensor({ sizes, tensors }: Values, name: string): Tensor {
    const tensor = tensors.get(name);
    if (tensor !== undefined) return tensor;
    const size = sizes.get(name);
    if (size === undefined) throw new RangeError(`${this.model.name} has no value "${name}"`);
    return this.#tf.tensor([...size.values], [...size.dims], "int32");
  }
}
