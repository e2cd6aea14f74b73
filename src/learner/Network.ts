/**
 * One trained set of parameters and its optimiser. On the CPU parameters change in place, so feeds over them stay valid. On a device that
 * keeps tensors they change there; only `synchronise` brings them into host memory.
 */
import { cpu, type Device, isResident } from "../domain/Device.ts";
import type { ParameterSpec } from "../model/graphs/Architecture.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import type { DeviceBase } from "../model/runtime/DeviceBase.ts";
import type { Feeds } from "../model/runtime/Session.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";
import { AdamW, type Moments, type StepResult } from "./optimiser/AdamW.ts";
import type { AdamWOptions } from "./optimiser/adamWModel.ts";
import { DeviceAdamW } from "./optimiser/DeviceAdamW.ts";

/** The device and the frozen weights that networks share. */
export interface NetworkResources {
  /** Frozen weights under a LoRA adapter; absent when the whole model is trained. */
  readonly base?: Base | undefined;
  readonly device?: Device | undefined;
  /** The base, uploaded to a device that keeps tensors. */
  readonly deviceBase?: DeviceBase | undefined;
}

export class Network implements LaneWeights {
  readonly parameters: Parameters;
  readonly base: Base | undefined;
  readonly #feeds: Feeds;
  readonly #optimiser: AdamW;
  #device: DeviceAdamW | undefined;
  #baseFeeds: Feeds = {};

  /** Takes ownership of the parameters and moments (zeros by default). `base` are the frozen weights under an adapter. */
  constructor(parameters: Parameters, options: AdamWOptions, moments?: Moments, base?: Base) {
    this.parameters = parameters;
    this.base = base;
    this.#feeds = weightFeeds(parameters, base);
    this.#optimiser = new AdamW(parameters, options, moments);
  }

  /** Opens a network on `device` (default CPU); its passes must run there too. The caller still owns and closes `deviceBase`. */
  static async open(
    parameters: Parameters,
    options: AdamWOptions,
    moments?: Moments,
    { base, device = cpu, deviceBase }: NetworkResources = {},
  ): Promise<Network> {
    const network = new Network(parameters, options, moments, base);
    if (!isResident(device)) return network;
    network.#device = await DeviceAdamW.open(parameters, options, network.moments, device);
    network.#baseFeeds = deviceBase?.feeds ?? {};
    return network;
  }

  get feeds(): Feeds {
    return this.#device === undefined ? this.#feeds : { ...this.#baseFeeds, ...this.#device.feeds };
  }

  /** Sums the gradients of passes on a device that keeps tensors; undefined on the CPU, where passes return them. */
  get gradientSum(): DeviceAdamW | undefined {
    return this.#device;
  }

  /** Copies parameters, and moments if `moments`, from the device into host memory. */
  async synchronise(moments = false): Promise<void> {
    await this.#device?.download("parameters", this.parameters.flat);
    if (!moments) return;
    const { first, second } = this.#optimiser.moments;
    await this.#device?.download("first", first);
    await this.#device?.download("second", second);
  }

  async close(): Promise<void> {
    await this.#device?.close();
  }

  get specs(): readonly ParameterSpec[] {
    return this.parameters.specs;
  }

  get moments(): Moments {
    const { first, second, steps } = this.#optimiser.moments;
    return { first, second, steps: this.#device?.steps ?? steps };
  }

  /**
   * Takes one AdamW step along `gradients`, one for each of `specs`; on a device, along the sum kept there. If any number is not finite,
   * nothing changes.
   */
  async step(gradients: readonly Float32Array[], lr: number): Promise<StepResult> {
    return this.#device === undefined ? this.#optimiser.step(gradients, lr) : this.#device.step(lr);
  }
}
