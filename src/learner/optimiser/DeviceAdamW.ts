/**
 * A trained network on a device that keeps its tensors: parameters, moments and the summed gradient leave it only by `download`. One model
 * takes the step over all tensors; its outputs replace the old ones. Invariant: a step with any number that is not finite changes nothing.
 */
import type { Device } from "../../domain/Device.ts";
import type { ParameterSpec } from "../../model/graphs/Architecture.ts";
import { namedTensors, type Parameters, parametersOf } from "../../model/graphs/Parameters.ts";
import { type DeviceTensor, discard, type Feeds, float32, type Outputs, Session } from "../../model/runtime/Session.ts";
import { release, type Tensors, Transfer } from "../../model/runtime/Transfer.ts";
import { add } from "../../model/tensor/Elementwise.ts";
import { Graph } from "../../model/tensor/Graph.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";
import type { NonFinitePart } from "../NonFinitePart.ts";
import { type Moments, type StepResult, skippedStep } from "./AdamW.ts";
import {
  type AdamWOptions,
  adamWTensorsModel,
  firstMomentName,
  gradientInputName,
  newName,
  secondMomentName,
  stepScalars,
} from "./adamWModel.ts";

const sumName = (name: string): string => `sum of ${name}`;
const addendName = (name: string): string => `more of ${name}`;

/** Inputs: two tensors of each spec. Outputs: their sums. */
const additionModel = (specs: readonly ParameterSpec[]): OnnxModel => {
  const graph = new Graph("addition");
  for (const { name, shape } of specs)
    graph.output(
      sumName(name),
      add(graph.input(name, "float32", shape), graph.input(addendName(name), "float32", shape)),
    );
  return graph.toModel();
};

const hostFeeds = (parameters: Parameters): Feeds =>
  Object.fromEntries(namedTensors(parameters).map(({ name, shape, values }) => [name, float32(values, shape)]));

const scalarOf = (outputs: Outputs, name: string): number => outputs.float32(name)[0] ?? Number.NaN;

const faultOf = (norm: number, outputs: Outputs): NonFinitePart | null => {
  if (!Number.isFinite(norm)) return "gradient";
  if (!Number.isFinite(scalarOf(outputs, "second_sum"))) return "new moments";
  return Number.isFinite(scalarOf(outputs, "parameter_squares")) ? null : "new parameters";
};

/** Bounds `max_norm`, because float32 overflows if a larger bound is divided by a small norm. */
const LARGEST_NORM = 1e30;

interface DeviceState {
  readonly parameters: Tensors;
  readonly first: Tensors;
  readonly second: Tensors;
}

interface Sessions {
  readonly step: Session;
  readonly addition: Session;
  readonly transfer: Transfer;
}

export class DeviceAdamW {
  readonly #specs: readonly ParameterSpec[];
  readonly #options: AdamWOptions;
  readonly #sessions: Sessions;
  #state: DeviceState;
  #steps: number;
  /** Sum of the micro-batches' gradients so far, in the order of the specs. */
  #gradient: readonly DeviceTensor[] = [];

  private constructor(
    specs: readonly ParameterSpec[],
    options: AdamWOptions,
    sessions: Sessions,
    state: DeviceState,
    steps: number,
  ) {
    this.#specs = specs;
    this.#options = options;
    this.#sessions = sessions;
    this.#state = state;
    this.#steps = steps;
  }

  static async open(
    parameters: Parameters,
    options: AdamWOptions,
    moments: Moments,
    device: Device,
  ): Promise<DeviceAdamW> {
    const { specs } = parameters;
    const keptOutputs = specs.flatMap(({ name }) => [
      newName(name),
      newName(firstMomentName(name)),
      newName(secondMomentName(name)),
    ]);
    const sessions = {
      step: await Session.open(adamWTensorsModel(specs, options), { device, keptOutputs }),
      addition: await Session.open(additionModel(specs), {
        device,
        keptOutputs: specs.map(({ name }) => sumName(name)),
      }),
      transfer: await Transfer.open(specs, device),
    };
    const uploaded = (flat: Float32Array<ArrayBuffer>) =>
      sessions.transfer.upload(hostFeeds(parametersOf(specs, flat)));
    const state = {
      parameters: await uploaded(parameters.flat),
      first: await uploaded(moments.first),
      second: await uploaded(moments.second),
    };
    return new DeviceAdamW(specs, options, sessions, state, moments.steps);
  }

  get steps(): number {
    return this.#steps;
  }

  /** The parameters as session feeds; valid until the next step. */
  get feeds(): Tensors {
    return this.#state.parameters;
  }

  /** Clears the sum at the start of a mini-batch. */
  clear(): void {
    discard(this.#gradient);
    this.#gradient = [];
  }

  /** Adds the gradient of a micro-batch, and takes ownership of its tensors. */
  async add(gradient: readonly DeviceTensor[]): Promise<void> {
    const before = this.#gradient;
    if (before.length === 0) {
      this.#gradient = gradient;
      return;
    }
    const summands = this.#specs.flatMap(({ name }, i) => [
      [name, before[i]!] as const,
      [addendName(name), gradient[i]!] as const,
    ]);
    using outputs = await this.#sessions.addition.run(Object.fromEntries(summands));
    this.#gradient = this.#specs.map(({ name }) => outputs.take(sumName(name)));
    discard([...before, ...gradient]);
  }

  /** Takes one step along the summed gradient and clears it. */
  async step(lr: number): Promise<StepResult> {
    const gradient = this.#gradient;
    if (gradient.length === 0) return skippedStep(null);
    const values = stepScalars(this.#options, lr, this.#steps + 1);
    const factors = { ...values, max_norm: Math.min(values.max_norm, LARGEST_NORM) };
    const { first, parameters, second } = this.#state;
    const feeds = this.#specs.flatMap(({ name }, i) => [
      [name, parameters[name]!] as const,
      [gradientInputName(name), gradient[i]!] as const,
      [firstMomentName(name), first[name]!] as const,
      [secondMomentName(name), second[name]!] as const,
    ]);
    const scalarFeeds = Object.entries(factors).map(
      ([name, value]) => [name, float32(Float32Array.of(value), [])] as const,
    );
    using outputs = await this.#sessions.step.run(Object.fromEntries([...feeds, ...scalarFeeds]));
    this.clear();
    const norm = scalarOf(outputs, "norm");
    const notFinite = faultOf(norm, outputs);
    if (notFinite !== null) return skippedStep(notFinite);
    const takeAll = (nameOf: (name: string) => string): Tensors =>
      Object.fromEntries(this.#specs.map(({ name }) => [name, outputs.take(newName(nameOf(name)))]));
    this.#release();
    this.#state = {
      parameters: takeAll((name) => name),
      first: takeAll(firstMomentName),
      second: takeAll(secondMomentName),
    };
    this.#steps++;
    return { norm, applied: true, notFinite: null };
  }

  /** Copies one of the three sets into host memory, laid out as the parameters. */
  async download(name: keyof DeviceState, into: Float32Array): Promise<void> {
    let at = 0;
    for (const values of await this.#sessions.transfer.download(this.#state[name])) {
      into.set(values, at);
      at += values.length;
    }
  }

  async close(): Promise<void> {
    this.clear();
    this.#release();
    const { addition, step, transfer } = this.#sessions;
    await step.close();
    await addition.close();
    await transfer.close();
  }

  #release(): void {
    for (const tensors of Object.values(this.#state)) release(tensors);
  }
}
