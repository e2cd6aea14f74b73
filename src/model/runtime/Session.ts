/**
 * One model, opened by onnxruntime on a device, or by tfjs. On the CPU inputs are views over the caller's memory and outputs are fresh
 * copies.
 * On WebGPU `keptOutputs` stay on the device, for other sessions of the thread. `run` blocks its thread, so sessions live in workers.
 * Invariants: `liveSessions` counts open sessions; the device is touched only in a turn (DeviceTurn.ts), so discarded tensors are
 * freed in the next one.
 */
import { InferenceSession, Tensor, type TypedTensor } from "onnxruntime-node";
import { cpu, type Device, isResident } from "../../domain/Device.ts";
import { deviceForm } from "../tensor/DeviceForm.ts";
import { encode, type OnnxModel } from "../tensor/Onnx.ts";
import { explainDeviceError } from "./DeviceError.ts";
import { takeTurn } from "./DeviceTurn.ts";
import { disableTelemetry } from "./telemetry.ts";

// Scripts and tests open sessions without a thread of ours.
disableTelemetry();

export type Float32Tensor = TypedTensor<"float32">;
export type Int64Tensor = TypedTensor<"int64">;
export type Int32Tensor = TypedTensor<"int32">;
export type Uint8Tensor = TypedTensor<"uint8">;
export type BoolTensor = TypedTensor<"bool">;
/** In host memory, or, as an output that was kept, on the device. */
export type HostTensor = Float32Tensor | Int64Tensor | Int32Tensor | Uint8Tensor | BoolTensor;
/** On the device; the runtime takes none from host memory. */
export type HalfTensor = TypedTensor<"float16">;
/** Floats on the device. Their owner gives them back by `discard`. */
export type DeviceTensor = Float32Tensor | HalfTensor;

/** Tensors by graph input name. A map object that is reused between runs saves rebuilding the constant part. */
export type Feeds = Readonly<Record<string, HostTensor | HalfTensor>>;

export const float32 = (data: Float32Array, dims: readonly number[]): Float32Tensor =>
  new Tensor("float32", data, dims);
export const int64 = (data: BigInt64Array, dims: readonly number[]): Int64Tensor => new Tensor("int64", data, dims);
/** Returns integers as a tensor of one dimension. */
export const int64Vector = (values: readonly number[]): Int64Tensor =>
  int64(BigInt64Array.from(values, BigInt), [values.length]);
export const int32 = (data: Int32Array, dims: readonly number[]): Int32Tensor => new Tensor("int32", data, dims);
export const uint8 = (data: Uint8Array, dims: readonly number[]): Uint8Tensor => new Tensor("uint8", data, dims);
export const bool = (data: Uint8Array, dims: readonly number[]): BoolTensor => new Tensor("bool", data, dims);

/** The runtime of a session's model. */
export type Runtime = "onnx" | "tfjs";

let runtimeOfThread: Runtime = "onnx";
/** Sets the runtime of the sessions that this thread opens from now on. */
export const useRuntime = (runtime: Runtime): void => {
  runtimeOfThread = runtime;
};
export const threadRuntime = (): Runtime => runtimeOfThread;

export interface SessionOptions {
  /** Default the thread's (`useRuntime`), which is onnxruntime unless said otherwise; the options after it are onnxruntime's alone. */
  readonly runtime?: Runtime;
  /** Intra-op threads; 1 keeps a row's bits independent of its batch. Default 1. */
  readonly threads?: number;
  /** Default CPU. */
  readonly device?: Device;
  /** Outputs that stay on the device, where it can keep them. Default none. */
  readonly keptOutputs?: readonly string[];
  /**
   * If true, the runtime plans the memory of all results ahead, as one lasting block for each set of input sizes.
   * A block also holds results that are never alive at once. Default true.
   */
  readonly plansMemory?: boolean;
}

let live = 0;
/** Sessions open in this thread. */
export const liveSessions = (): number => live;

/** Bytes between host and device through the inputs and outputs of this thread's sessions. */
export interface Transfers {
  readonly uploaded: number;
  readonly downloaded: number;
}

let uploaded = 0;
let downloaded = 0;
/** Bytes moved since the thread began; nothing is moved for sessions on the CPU. */
export const transfers = (): Transfers => ({ uploaded, downloaded });

const elementBytes: Readonly<Record<string, number>> = {
  float32: 4,
  float16: 2,
  int32: 4,
  int64: 8,
  uint8: 1,
  bool: 1,
};
const bytesOf = ({ size, type }: Tensor): number => size * (elementBytes[type] ?? 0);
const isOnHost = ({ location }: Tensor): boolean => location === "cpu";

/** Tensors to free in the thread's next turn. */
let discarded: Tensor[] = [];
const disposeDiscarded = (): void => {
  for (const tensor of discarded) tensor.dispose();
  discarded = [];
};

/** Runs work in a turn on the device, after freeing discarded tensors. */
const onDevice = <A>(work: () => Promise<A>): Promise<A> =>
  takeTurn(() => {
    disposeDiscarded();
    return work();
  });

/** Gives tensors on the device back; they must not be used again. Of tensors in host memory it does nothing. */
export const discard = (tensors: Iterable<HostTensor | HalfTensor>): void => {
  for (const tensor of tensors) if (tensor.location === "gpu-buffer") discarded.push(tensor);
};

/** Results of a run by output name. */
export class Outputs {
  readonly #values: InferenceSession.ReturnType;
  readonly #taken = new Set<string>();

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

  /** An output of floats that was kept on the device; the caller owns it. */
  take(name: string): DeviceTensor {
    const tensor = this.#tensor(name);
    if (tensor.type !== "float32" && tensor.type !== "float16")
      throw new TypeError(`output "${name}" is neither float32 nor float16`);
    this.#taken.add(name);
    return tensor as DeviceTensor;
  }

  dims(name: string): readonly number[] {
    return this.#tensor(name).dims;
  }

  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** Lets go of what is on the device and was not taken. */
  [Symbol.dispose](): void {
    for (const name of this.names) if (!this.#taken.has(name)) discard([this.#tensor(name) as HostTensor]);
  }

  #tensor(name: string): Tensor {
    const value = this.#values[name];
    if (!(value instanceof Tensor)) throw new TypeError(`there is no output "${name}"`);
    return value;
  }
}

/** Names of the outputs to run, or every output's name with the tensor that takes its values. */
export type Fetches = readonly string[] | Readonly<Record<string, HostTensor>>;

const outputNamesIn = (fetches: Fetches): readonly string[] =>
  Array.isArray(fetches) ? fetches : Object.keys(fetches);

/** A model as a runtime has loaded it. */
interface Runner {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly run: (feeds: Feeds, fetches?: Fetches) => Promise<InferenceSession.ReturnType>;
  readonly release: () => Promise<void>;
}

/** Returns the runtime's options for a device. */
const providerOptions = ({ index, kind }: Device): InferenceSession.SessionOptions => {
  switch (kind) {
    case "cpu":
      return { executionProviders: ["cpu"] };
    case "cuda":
      return { executionProviders: [{ name: "cuda", deviceId: index }] };
    case "webgpu":
      return { executionProviders: ["webgpu"] };
  }
};

/**
 * Microseconds that a pool's thread spins for the next product of a run: waking it takes as long as a small product. It sleeps between
 * runs, whose cores other threads need.
 */
const SPIN_DURATION = 200;

const spinning = (threads: number) => ({
  intra_op: threads > 1 ? { allow_spinning: "1", spin_duration_us: `${SPIN_DURATION}` } : { allow_spinning: "0" },
  inter_op: { allow_spinning: "0" },
  force_spinning_stop: "1",
});

/**
 * This optimiser moves the transposition of a weight's gradient into its product with the wide operand transposed, which the runtime
 * copies in strips. The new node also runs last, so a layer's results stay until the end of a pass.
 */
const disabledOptimizer = "GemmTransposeFusion";

const extraOptions = ({ index, kind }: Device, threads: number) => ({
  session: spinning(threads),
  optimization: { disable_specified_optimizers: disabledOptimizer },
  // WebGPU gives no list of adapters; it chooses between two by what they are wanted for.
  ...(kind === "webgpu" && {
    ep: { webgpuexecutionprovider: { powerPreference: index === 0 ? "high-performance" : "low-power" } },
  }),
});

const onOnnxruntime = async (model: OnnxModel, options: SessionOptions): Promise<Runner> => {
  const { device = cpu, keptOutputs = [], threads = 1 } = options;
  const bytes = encode(device.kind === "cpu" ? model : deviceForm(model));
  const externalData = model.constants
    .filter(({ isExternal }) => isExternal)
    .map(({ bytes: data, name: path }) => ({ path, data }));
  const preferred = model.outputs.map(({ name }) => [name, keptOutputs.includes(name) ? "gpu-buffer" : "cpu"] as const);
  const open = () =>
    InferenceSession.create(bytes, {
      externalData,
      ...providerOptions(device),
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      enableMemPattern: options.plansMemory ?? true,
      extra: extraOptions(device, threads),
      logSeverityLevel: device.kind === "cpu" ? 3 : 4,
      ...(isResident(device) && keptOutputs.length > 0 && { preferredOutputLocation: Object.fromEntries(preferred) }),
    });
  const session = await (isResident(device) ? takeTurn(open) : open());
  const run: Runner["run"] = (feeds, fetches) =>
    fetches === undefined ? session.run(feeds) : session.run(feeds, fetches);
  const release = (): Promise<void> => session.release();
  return {
    inputNames: session.inputNames,
    outputNames: session.outputNames,
    run: isResident(device) ? (feeds, fetches) => onDevice(() => run(feeds, fetches)) : run,
    release: isResident(device) ? () => onDevice(release) : release,
  };
};

/** Counts what a run on a device was given and gave. */
const countTransfers = (names: readonly string[], feeds: Feeds, values: InferenceSession.ReturnType): void => {
  for (const name of names) {
    const fed = feeds[name];
    if (fed !== undefined && isOnHost(fed)) uploaded += bytesOf(fed);
  }
  for (const value of Object.values(values))
    if (value instanceof Tensor && isOnHost(value)) downloaded += bytesOf(value);
};

const runners: Readonly<Record<Runtime, (model: OnnxModel, options: SessionOptions) => Promise<Runner>>> = {
  onnx: onOnnxruntime,
  tfjs: async (model) => {
    // The import is dynamic because tfjs is an optional package.
    const { TfjsRunner } = await import("./tfjs/TfjsRunner.ts");
    const runner = await TfjsRunner.open(model);
    return {
      inputNames: runner.inputNames,
      outputNames: runner.outputNames,
      run: (feeds, fetches) => runner.run(feeds, fetches && outputNamesIn(fetches)),
      release: () => runner.release(),
    };
  },
};

export class Session implements AsyncDisposable {
  readonly #runner: Runner;
  readonly #device: Device;
  #closed = false;

  private constructor(runner: Runner, device: Device) {
    this.#runner = runner;
    this.#device = device;
    live++;
  }

  /** Loads and optimises a model. Rejects where the runtime refuses it, with a DeviceError where the device is why. */
  static async open(model: OnnxModel, options: SessionOptions = {}): Promise<Session> {
    const { device = cpu } = options;
    try {
      return new Session(await runners[options.runtime ?? runtimeOfThread](model, options), device);
    } catch (error) {
      throw explainDeviceError(error, device);
    }
  }

  get inputs(): readonly string[] {
    return this.#runner.inputNames;
  }

  get outputs(): readonly string[] {
    return this.#runner.outputNames;
  }

  /**
   * Runs all outputs, or those named in `fetches` (all, where some are kept on a device). Tensors in `fetches` are written instead of fresh
   * ones by onnxruntime on the CPU. The event loop turns once before the (blocking) run. Rejects with a DeviceError where the device is why.
   */
  async run(feeds: Feeds, fetches?: Fetches): Promise<Outputs> {
    if (this.#device.kind === "cpu") return new Outputs(await this.#runner.run(feeds, fetches));
    try {
      const values = await this.#runner.run(feeds, fetches);
      countTransfers(this.#runner.inputNames, feeds, values);
      return new Outputs(values);
    } catch (error) {
      throw explainDeviceError(error, this.#device);
    }
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    live--;
    await this.#runner.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
