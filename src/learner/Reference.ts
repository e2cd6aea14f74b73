/**
 * The reference policy of a KL divergence: the run's starting weights (the model without its adapter), or those of the last renewal. On a
 * device that keeps tensors it is uploaded at the start and by each renewal. Invariant: its numbers change only by `renew`.
 */
import { cpu, isResident } from "../domain/Device.ts";
import { ADAPTER_SCALE } from "../model/graphs/Lora.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import { type Base, factorFeed, viewFeeds } from "../model/runtime/baseFeeds.ts";
import type { Feeds } from "../model/runtime/Session.ts";
import { release, type Tensors, Transfer } from "../model/runtime/Transfer.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";
import type { Network, NetworkResources } from "./Network.ts";

/** The reference's numbers on a device that keeps tensors. */
interface DeviceCopy {
  readonly transfer: Transfer;
  tensors: Tensors;
}

export class Reference implements LaneWeights {
  readonly parameters: Parameters;
  readonly base: Base | undefined;
  readonly #feeds: () => Feeds;
  readonly #deviceCopy: DeviceCopy | undefined;

  private constructor(parameters: Parameters, base: Base | undefined, feeds: () => Feeds, deviceCopy?: DeviceCopy) {
    this.parameters = parameters;
    this.base = base;
    this.#feeds = feeds;
    this.#deviceCopy = deviceCopy;
  }

  /** Takes ownership of the parameters. */
  static async open(
    parameters: Parameters,
    { base, device = cpu, deviceBase }: NetworkResources = {},
  ): Promise<Reference> {
    if (!isResident(device)) {
      const feeds = weightFeeds(parameters, base);
      return new Reference(parameters, base, () => feeds);
    }
    const transfer = await Transfer.open(parameters.specs, device);
    const deviceCopy: DeviceCopy = { transfer, tensors: await transfer.upload(viewFeeds(parameters)) };
    return new Reference(parameters, base, () => ({ ...deviceBase?.feeds, ...deviceCopy.tensors }), deviceCopy);
  }

  /**
   * Returns the policy without its adapter. It shares the policy's numbers and sets the adapter's scale to 0, so it must not be renewed.
   */
  static withoutAdapter(network: Network, base: Base): Reference {
    const off = { [ADAPTER_SCALE]: factorFeed(0) };
    return new Reference(network.parameters, { ...base, scale: 0 }, () => ({ ...network.feeds, ...off }));
  }

  /** Session inputs; valid until the policy's next step or the next renewal. */
  get feeds(): Feeds {
    return this.#feeds();
  }

  /** Copies `policy` from host memory, which must be up to date. */
  async renew(policy: Parameters): Promise<void> {
    this.parameters.flat.set(policy.flat);
    if (this.#deviceCopy === undefined) return;
    release(this.#deviceCopy.tensors);
    this.#deviceCopy.tensors = await this.#deviceCopy.transfer.upload(viewFeeds(this.parameters));
  }

  async close(): Promise<void> {
    if (this.#deviceCopy === undefined) return;
    release(this.#deviceCopy.tensors);
    await this.#deviceCopy.transfer.close();
  }
}
