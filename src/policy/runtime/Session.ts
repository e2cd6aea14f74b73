/**
 * One onnxruntime session. Tensors are typed views over memory that the caller owns: inputs are taken without a copy, outputs are
 * fresh copies. `run` blocks its thread, so sessions live in workers.
 * Invariant: `liveSessions` counts the sessions that were opened and not closed.
 */
import { InferenceSession, Tensor, type TypedTensor } from "onnxruntime-node";
import { encode, type OnnxModel } from "../../tensor/Onnx.ts";

export type Float32Tensor = TypedTensor<"float32">;
export type Int64Tensor = TypedTensor<"int64">;
export type Int32Tensor = TypedTensor<"int32">;
export type BoolTensor = TypedTensor<"bool">;
export type HostTensor = Float32Tensor | Int64Tensor | Int32Tensor | BoolTensor;

/** Tensors by graph input name. A map object that is reused between runs saves rebuilding the constant part. */
export type Feeds = Readonly<Record<string, HostTensor>>;

export const float32 = (data: Float32Array, dims: readonly number[]): Float32Tensor =>
  new Tensor("float32", data, dims);
export const int64 = (data: BigInt64Array, dims: readonly number[]): Int64Tensor => new Tensor("int64", data, dims);
export const int32 = (data: Int32Array, dims: readonly number[]): Int32Tensor => new Tensor("int32", data, dims);
export const bool = (data: Uint8Array, dims: readonly number[]): BoolTensor => new Tensor("bool", data, dims);

export interface SessionOptions {
  /** Intra-op threads; 1 keeps a row's bits independent of its batch. Default 1. */
  readonly threads?: number;
  /**
   * Whether the runtime plans the memory of all of a run's results ahead, as one block for each set of input sizes. Such blocks hold what is
   * never held at once, and stay. Default true.
   */
  readonly planned?: boolean;
  /** Execution providers in order of preference. Default CPU. */
  readonly providers?: readonly string[];
}

let live = 0;
/** Sessions open in this thread. */
export const liveSessions = (): number => live;

/** Results of a run by output name. */
export class Outputs {
  readonly #values: InferenceSession.ReturnType;

  constructor(values: InferenceSession.ReturnType) {
    this.#values = values;
  }

  /** Data of a float32 output. Throws a TypeError when there is none of that name and type. */
  float32(name: string): Float32Array {
    const data = this.#tensor(name).data;
    if (!(data instanceof Float32Array)) throw new TypeError(`output "${name}" is not float32`);
    return data;
  }

  int64(name: string): BigInt64Array {
    const data = this.#tensor(name).data;
    if (!(data instanceof BigInt64Array)) throw new TypeError(`output "${name}" is not int64`);
    return data;
  }

  bool(name: string): Uint8Array {
    const tensor = this.#tensor(name);
    if (tensor.type !== "bool" || !(tensor.data instanceof Uint8Array))
      throw new TypeError(`output "${name}" is not bool`);
    return tensor.data;
  }

  dims(name: string): readonly number[] {
    return this.#tensor(name).dims;
  }

  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** Gives device memory back; needed where outputs stay on a device. */
  [Symbol.dispose](): void {
    for (const name of this.names) this.#tensor(name).dispose();
  }

  #tensor(name: string): Tensor {
    const value = this.#values[name];
    if (!(value instanceof Tensor)) throw new TypeError(`there is no output "${name}"`);
    return value;
  }
}

export class Session implements AsyncDisposable {
  readonly #session: InferenceSession;
  #closed = false;

  private constructor(session: InferenceSession) {
    this.#session = session;
    live++;
  }

  /** Loads and optimises a model. Rejects where the runtime refuses it. */
  static async open(model: OnnxModel, options: SessionOptions = {}): Promise<Session> {
    const session = await InferenceSession.create(encode(model), {
      executionProviders: options.providers ?? ["cpu"],
      intraOpNumThreads: options.threads ?? 1,
      interOpNumThreads: 1,
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      enableMemPattern: options.planned ?? true,
      // Idle pool threads would otherwise spin on cores that other threads of the run need.
      extra: {
        // It would turn a product of which the narrow operand is transposed into one that transposes the wide operand, which is slower.
        optimization: { disable_specified_optimizers: "GemmTransposeFusion" },
        session: { intra_op: { allow_spinning: "0" }, inter_op: { allow_spinning: "0" } },
      },
      logSeverityLevel: 3,
    });
    return new Session(session);
  }

  get inputs(): readonly string[] {
    return this.#session.inputNames;
  }

  get outputs(): readonly string[] {
    return this.#session.outputNames;
  }

  /** Runs all outputs, or those named in `fetches`. The event loop turns once before the (blocking) run. */
  async run(feeds: Feeds, fetches?: readonly string[]): Promise<Outputs> {
    return new Outputs(await (fetches === undefined ? this.#session.run(feeds) : this.#session.run(feeds, fetches)));
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    live--;
    await this.#session.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
