/**
 * A session's model on tfjs: takes host tensors, checks that they fit the model's inputs, runs the executor and gives host tensors back.
 * Inputs are put on the device at every run, since their owner changes them in place.
 * Invariant: results share no memory with inputs nor with one another, and no tensor outlives a run but the model's constants.
 */
import { setImmediate } from "node:timers/promises";
import { Tensor as HostTensor, type TypedTensor } from "onnxruntime-node";
import type { DType, OnnxModel, OnnxValue } from "../../tensor/Onnx.ts";
import { isSymbol } from "../../tensor/Shape.ts";
import { Executor, toInt32 } from "./Executor.ts";
import { loadTf, type Tensor, type Tf } from "./peer.ts";

type Feed =
  | TypedTensor<"float32">
  | TypedTensor<"float16">
  | TypedTensor<"int64">
  | TypedTensor<"int32">
  | TypedTensor<"uint8">
  | TypedTensor<"bool">;
export type HostFeeds = Readonly<Record<string, Feed>>;

const toDevice = (tf: Tf, name: string, feed: Feed): Tensor => {
  const dims = [...feed.dims];
  switch (feed.type) {
    case "float32":
      return tf.tensor(feed.data, dims, "float32");
    case "int64":
      return tf.tensor(toInt32(name, feed.data), dims, "int32");
    case "int32":
      return tf.tensor(feed.data, dims, "int32");
    case "uint8":
      return tf.tensor(Int32Array.from(feed.data), dims, "int32");
    case "bool":
      return tf.tensor(feed.data, dims, "bool");
    case "float16":
      throw new RangeError(`"${name}" is float16, which tfjs has not`);
  }
};

/** Raises a RangeError where a feed has another type or shape than its input, or a symbol two sizes. */
const checkFeeds = ({ inputs, name: model }: OnnxModel, feeds: HostFeeds): void => {
  const sizes = new Map<string, number>();
  const misfit = ({ dtype, shape }: OnnxValue, { dims, type }: Feed): boolean => {
    if (type !== dtype || dims.length !== shape.length) return true;
    return shape.some((dim, axis) => {
      const size = dims[axis];
      if (typeof dim === "number") return dim !== size;
      if (!isSymbol(dim) || size === undefined) return false;
      const bound = sizes.get(dim) ?? size;
      sizes.set(dim, bound);
      return bound !== size;
    });
  };
  for (const input of inputs) {
    const feed = feeds[input.name];
    if (feed === undefined) throw new RangeError(`the input "${input.name}" of ${model} is missing`);
    if (misfit(input, feed))
      throw new RangeError(
        `the input "${input.name}" of ${model} is ${input.dtype} [${input.shape}], not ${feed.type} [${feed.dims}]`,
      );
  }
};

/** The numbers of a result, in memory of its own. */
const ownData = (tensor: Tensor, usedBuffers: Set<ArrayBufferLike>): Float32Array | Int32Array | Uint8Array => {
  const data = tensor.dataSync();
  // the JavaScript backend gives views of what it holds, which may be an input's memory
  const copy = usedBuffers.has(data.buffer) || data.byteLength !== data.buffer.byteLength ? data.slice() : data;
  usedBuffers.add(copy.buffer);
  return copy;
};

const toHost = (dtype: DType, tensor: Tensor, usedBuffers: Set<ArrayBufferLike>): HostTensor => {
  const data = ownData(tensor, usedBuffers);
  switch (dtype) {
    case "float32":
      return new HostTensor("float32", data instanceof Float32Array ? data : Float32Array.from(data), tensor.shape);
    case "int64":
      return new HostTensor("int64", BigInt64Array.from(data, BigInt), tensor.shape);
    case "int32":
      return new HostTensor("int32", data instanceof Int32Array ? data : Int32Array.from(data), tensor.shape);
    case "uint8":
      return new HostTensor("uint8", Uint8Array.from(data), tensor.shape);
    case "bool":
      return new HostTensor("bool", data instanceof Uint8Array ? data : Uint8Array.from(data), tensor.shape);
  }
};

export class TfjsRunner {
  readonly #tf: Tf;
  readonly #executor: Executor;

  private constructor(tf: Tf, executor: Executor) {
    this.#tf = tf;
    this.#executor = executor;
  }

  /** Rejects where no tfjs package is installed, or where the model has an operator that the executor does not have. */
  static async open(model: OnnxModel): Promise<TfjsRunner> {
    const tf = await loadTf();
    return new TfjsRunner(tf, new Executor(tf, model));
  }

  get inputNames(): readonly string[] {
    return this.#executor.model.inputs.map(({ name }) => name);
  }

  get outputNames(): readonly string[] {
    return this.#executor.model.outputs.map(({ name }) => name);
  }

  /** The event loop turns once before the (blocking) run. */
  async run(feeds: HostFeeds, fetches: readonly string[] = this.outputNames): Promise<Record<string, HostTensor>> {
    await setImmediate();
    const { model } = this.#executor;
    checkFeeds(model, feeds);
    const types = new Map(model.outputs.map(({ dtype, name }) => [name, dtype]));
    return this.#scoped(() => {
      const usedBuffers = new Set<ArrayBufferLike>();
      const tensors: Record<string, Tensor> = {};
      for (const { name } of model.inputs) {
        const feed = feeds[name];
        if (feed === undefined) continue;
        tensors[name] = toDevice(this.#tf, name, feed);
        usedBuffers.add(feed.data.buffer);
      }
      const results = Object.entries(this.#executor.forward(tensors, { fetches }));
      return Object.fromEntries(
        results.map(([name, tensor]) => [name, toHost(types.get(name) ?? "float32", tensor, usedBuffers)]),
      );
    });
  }

  async release(): Promise<void> {
    this.#executor.dispose();
  }

  /** Runs `body` and disposes every tensor that it made. */
  #scoped<A>(body: () => A): A {
    const engine = this.#tf.engine();
    engine.startScope();
    try {
      return body();
    } finally {
      engine.endScope();
    }
  }
}
