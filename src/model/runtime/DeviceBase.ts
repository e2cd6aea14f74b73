/**
 * The base weights beside an adapter on a device that keeps tensors: uploaded once, and read by every session of the thread.
 * Invariant: nobody changes the tensors.
 */
import { cpu, type Device, isResident } from "../../domain/Device.ts";
import type { ParameterSpec } from "../graphs/Architecture.ts";
import { ADAPTER_SCALE } from "../graphs/Lora.ts";
import { namedTensors } from "../graphs/Parameters.ts";
import { type Base, factorFeed } from "./baseFeeds.ts";
import { type DeviceTensor, discard, type Feeds, float32 } from "./Session.ts";
import { type DeviceFloat, Uploader } from "./Uploader.ts";

export class DeviceBase {
  /** The frozen weights and the adapter's factor, as session feeds. */
  readonly feeds: Feeds;
  readonly #tensors: readonly DeviceTensor[];
  readonly #uploads: Uploader;

  private constructor(tensors: Readonly<Record<string, DeviceTensor>>, scale: number, uploads: Uploader) {
    this.feeds = { ...tensors, [ADAPTER_SCALE]: factorFeed(scale) };
    this.#tensors = Object.values(tensors);
    this.#uploads = uploads;
  }

  /** Uploads the base, each weight as the type that `typeOf` returns. On the CPU, in tests, it copies it in host memory. */
  static async open(
    { frozen, scale }: Base,
    device: Device,
    typeOf: (spec: ParameterSpec) => DeviceFloat = () => "float32",
  ): Promise<DeviceBase> {
    const uploads = new Uploader(device);
    const tensors: Record<string, DeviceTensor> = {};
    for (const { values, ...spec } of namedTensors(frozen))
      tensors[spec.name] = await uploads.upload(float32(values, spec.shape), typeOf(spec));
    return new DeviceBase(tensors, scale, uploads);
  }

  /** Frees the tensors. Call it when no session reads them any more. */
  async close(): Promise<void> {
    discard(this.#tensors);
    await this.#uploads.close();
  }
}

/** Uploads a base to a device that keeps tensors; undefined on other devices and without a base. */
export const openDeviceBase = async (device: Device = cpu, base?: Base): Promise<DeviceBase | undefined> =>
  base !== undefined && isResident(device) ? DeviceBase.open(base, device) : undefined;
