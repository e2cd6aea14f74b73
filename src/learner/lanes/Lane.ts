/**
 * One lane: the sessions of one thread. A model is opened once under a number; a run takes weights and a micro-batch and returns the
 * model's outputs. Invariant: equal inputs give equal bits on any lane with the same number of threads.
 */
import { cpu, type Device, isResident } from "../../domain/Device.ts";
import type { ParameterSpec } from "../../model/graphs/Architecture.ts";
import type { FrozenParameters } from "../../model/graphs/Parameters.ts";
import { type Base, baseFeeds, viewFeeds } from "../../model/runtime/baseFeeds.ts";
import { type DeviceTensor, type Feeds, float32, int64, type Outputs, Session } from "../../model/runtime/Session.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";
import { gradientName } from "../gradients.ts";

/** A model input as plain data, so that it can travel to another thread. */
export interface InputArray {
  readonly data: Float32Array | BigInt64Array;
  readonly dims: readonly number[];
}

/** The inputs of one micro-batch beside the weights, by name. */
export type MicroInputs = Readonly<Record<string, InputArray>>;

export interface LaneModel<Sum extends string = string, Row extends string = string> {
  /** The model, whose inputs are weights and a micro-batch. */
  readonly model: OnnxModel;
  /** Parameters that the model gives gradients of; gradients are added up over micro-batches. */
  readonly trained: readonly ParameterSpec[];
  /** Sums gradients on the device if it keeps tensors, so that they never leave it. Default false. */
  readonly sumsOnDevice?: boolean;
  /** Other outputs that are added up over micro-batches. */
  readonly sums: readonly Sum[];
  /** Outputs that are returned for each micro-batch. */
  readonly rows: readonly Row[];
}

/** Outputs of a model by name. */
export type Arrays<Name extends string = string> = Readonly<Record<Name, Float32Array>>;

/** Outputs of one micro-batch. */
export interface MicroResult<Sum extends string = string, Row extends string = string> {
  /** One gradient for each trained parameter; empty if they stay on the device. */
  readonly gradients: readonly Float32Array[];
  /** Gradients on the device, which the caller owns. */
  readonly deviceGradients: readonly DeviceTensor[];
  readonly sums: Arrays<Sum>;
  readonly rows: Arrays<Row>;
}

/**
 * A model with more weights than this runs without a memory plan. With six layers of a 135 M model and its vocabulary, passes of 2 x 400
 * tokens took 1.5 GiB with a plan and 0.9 without, in equal time.
 */
const LARGEST_PLANNED = 2 ** 25;

/** Counts the numbers of inputs with fixed sizes, which are the weights. */
const weightsIn = ({ inputs }: OnnxModel): number =>
  inputs
    .map(({ shape }) => shape.reduce<number>((size, dim) => (typeof dim === "number" ? size * dim : 0), 1))
    .reduce((a, b) => a + b, 0);

/** True if the runtime plans the memory of a model's passes ahead. */
export const isPlanned = (model: OnnxModel): boolean => weightsIn(model) <= LARGEST_PLANNED;

/** Returns session feeds of parameters under their names. They are views, not copies. */
export const weightFeeds = (parameters: FrozenParameters, base?: Base): Feeds => ({
  ...(base === undefined ? {} : baseFeeds(base)),
  ...viewFeeds(parameters),
});

const feed = ({ data, dims }: InputArray) => (data instanceof Float32Array ? float32(data, dims) : int64(data, dims));

const outputArrays = (names: readonly string[], outputs: Outputs): Arrays =>
  Object.fromEntries(names.map((name) => [name, outputs.float32(name)]));

export class Lane implements AsyncDisposable {
  readonly #threads: number;
  readonly #device: Device;
  readonly #models: { readonly session: Session; readonly model: LaneModel }[] = [];

  /** `threads` are the intra-op threads of every session. */
  constructor(threads: number, device: Device = cpu) {
    this.#threads = threads;
    this.#device = device;
  }

  /** Opens a model and returns its number: 0, 1, 2 and so on. Rejects if the runtime refuses it. */
  async open(model: LaneModel): Promise<number> {
    const residentNames = model.sumsOnDevice === true ? model.trained.map(gradientName) : [];
    const planned = isPlanned(model.model);
    const session = await Session.open(model.model, {
      threads: this.#threads,
      device: this.#device,
      keptOutputs: residentNames,
      plansMemory: planned,
    });
    return this.#models.push({ session, model }) - 1;
  }

  /** Runs one micro-batch. The caller owns the results. */
  async run(number: number, weights: Feeds, micro: MicroInputs): Promise<MicroResult> {
    const opened = this.#models[number];
    if (opened === undefined) throw new RangeError(`no model ${number} is open`);
    const { session, model } = opened;
    const inputs = Object.fromEntries(Object.entries(micro).map(([name, input]) => [name, feed(input)]));
    const gradients = model.trained.map(gradientName);
    const onDevice = model.sumsOnDevice === true && isResident(this.#device);
    const downloaded = [...gradients, ...model.sums, ...model.rows];
    using outputs = await session.run({ ...weights, ...inputs }, onDevice ? undefined : downloaded);
    return {
      gradients: onDevice ? [] : gradients.map((name) => outputs.float32(name)),
      deviceGradients: onDevice ? gradients.map((name) => outputs.take(name)) : [],
      sums: outputArrays(model.sums, outputs),
      rows: outputArrays(model.rows, outputs),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#models.map(({ session }) => session.close()));
  }
}
