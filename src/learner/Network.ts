/**
 * One trained set of parameters and its optimiser. On the CPU the parameters change in place, so that the feeds of every model over them
 * stay valid. On a device that keeps its tensors they change there, and in host memory by `synchronise` alone.
 */
import { cpu, type Device, isResident } from "../domain/Device.ts";
import type { ParameterSpec } from "../model/graphs/Architecture.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import type { HeldBase } from "../model/runtime/HeldBase.ts";
import type { Feeds } from "../model/runtime/Session.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";
import { AdamW, type Moments, type StepResult } from "./optimiser/AdamW.ts";
import type { AdamWOptions } from "./optimiser/adamWModel.ts";
import { DeviceAdamW } from "./optimiser/DeviceAdamW.ts";

/** Where a network's numbers are, and what they stand beside. */
export interface NetworkResources {
  /** Where they are an adapter. */
  readonly base?: Base | undefined;
  readonly device?: Device | undefined;
  /** The base on a device that keeps tensors. */
  readonly deviceBase?: HeldBase | undefined;
}

export class Network implements LaneWeights {
  readonly parameters: Parameters;
  readonly base: Base | undefined;
  readonly #feeds: Feeds;
  readonly #optimiser: AdamW;
  #device: DeviceAdamW | undefined;
  #baseFeeds: Feeds = {};

  /** Takes ownership of the parameters and moments (zeros by default). `base`: what they stand beside, where they are an adapter. */
  constructor(parameters: Parameters, options: AdamWOptions, moments?: Moments, base?: Base) {
    this.parameters = parameters;
    this.base = base;
    this.#feeds = weightFeeds(parameters, base);
    this.#optimiser = new AdamW(parameters, options, moments);
  }

  /** The same on `device` (default CPU), where the passes over it must run too; `held` is the base there, which stays its owner's. */
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

  /** Where the gradients of passes are summed, on a device that keeps them; undefined where passes give them. */
  get gradientSum(): DeviceAdamW | undefined {
    return this.#device;
  }

  /** Brings parameters, and moments where they are asked for, in host memory up to date. */
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

  /** What is trained. */
  get specs(): readonly ParameterSpec[] {
    return this.parameters.specs;
  }

  get moments(): Moments {
    const { first, second, steps } = this.#optimiser.moments;
    return { first, second, steps: this.#device?.steps ?? steps };
  }

  /** One AdamW step along `gradients`, one for each of `specs` (on a device: along what was summed there). A step of which anything is not finite changes nothing. */
  async step(gradients: readonly Float32Array[], lr: number): Promise<StepResult> {
    return this.#device === undefined ? this.#optimiser.step(gradients, lr) : this.#device.step(lr);
  }
}
