/**
 * What an adapter stands beside, on a device that keeps tensors: uploaded once for a role, and read by every session of its thread from then on.
 * Invariant: nobody changes the tensors.
 */
import { cpu, type Device, isResident } from "../../domain/Device.ts";
import type { ParameterSpec } from "../graphs/Architecture.ts";
import { ADAPTER_SCALE } from "../graphs/Lora.ts";
import { named } from "../graphs/Parameters.ts";
import { type Base, factorFeed } from "./baseFeeds.ts";
import { type DeviceTensor, discard, type Feeds, float32 } from "./Session.ts";
import { type DeviceFloat, Uploads } from "./Uploads.ts";

export class HeldBase {
  /** The frozen weights and the adapter's factor, as session feeds. */
  readonly feeds: Feeds;
  readonly #tensors: readonly DeviceTensor[];
  readonly #uploads: Uploads;

  private constructor(tensors: Readonly<Record<string, DeviceTensor>>, scale: number, uploads: Uploads) {
    this.feeds = { ...tensors, [ADAPTER_SCALE]: factorFeed(scale) };
    this.#tensors = Object.values(tensors);
    this.#uploads = uploads;
  }

  /** Uploads the base, each weight as the type that `typeOf` gives. On the CPU, for tests, where "the device" is host memory, it copies it. */
  static async open(
    { frozen, scale }: Base,
    device: Device,
    typeOf: (spec: ParameterSpec) => DeviceFloat = () => "float32",
  ): Promise<HeldBase> {
    const uploads = new Uploads(device);
    const tensors: Record<string, DeviceTensor> = {};
    for (const { values, ...spec } of named(frozen))
      tensors[spec.name] = await uploads.upload(float32(values, spec.shape), typeOf(spec));
    return new HeldBase(tensors, scale, uploads);
  }

  /** Only when nothing reads it any more. */
  async close(): Promise<void> {
    discard(this.#tensors);
    await this.#uploads.close();
  }
}

/** A base on a device that keeps tensors; undefined on one that does not, and where there is no base. */
export const heldOn = async (device: Device = cpu, base?: Base): Promise<HeldBase | undefined> =>
  base !== undefined && isResident(device) ? HeldBase.open(base, device) : undefined;
