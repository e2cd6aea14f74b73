/**
 * What an adapter stands beside, on a device that keeps tensors: uploaded once for a role, and read by every session of its thread from then on.
 * The weights go up one by one, so that beside them the device holds the largest of them twice and no more.
 * Invariants: nobody changes the tensors; the sessions that made them stay open as long as they do, because the memory is theirs.
 */
import { cpu, type Device, isResident } from "../../domain/Device.ts";
import { ADAPTER_SCALE } from "../model/Lora.ts";
import { named } from "../model/Parameters.ts";
import { type Base, factorFeed } from "./baseFeeds.ts";
import { discard, type Feeds, float32 } from "./Session.ts";
import { type Tensors, Transfer } from "./Transfer.ts";

const ONE = "tensor";
const dims = ["rows", "columns"] as const;

export class HeldBase {
  /** The frozen weights and the adapter's factor, as session feeds. */
  readonly feeds: Feeds;
  readonly #tensors: Tensors;
  /** One for each rank. */
  readonly #transfers: readonly Transfer[];

  private constructor(tensors: Tensors, scale: number, transfers: readonly Transfer[]) {
    this.feeds = { ...tensors, [ADAPTER_SCALE]: factorFeed(scale) };
    this.#tensors = tensors;
    this.#transfers = transfers;
  }

  /** Uploads the base. On the CPU, for tests, where "the device" is host memory, it copies it. */
  static async open({ frozen, scale }: Base, device: Device): Promise<HeldBase> {
    const tensors: Record<string, Tensors[string]> = {};
    const transfers: Transfer[] = [];
    for (const rank of new Set(frozen.specs.map(({ shape }) => shape.length))) {
      const transfer = await Transfer.open([{ name: ONE, shape: dims.slice(0, rank) }], device);
      transfers.push(transfer);
      for (const { name, shape, values } of named(frozen)) {
        if (shape.length === rank) tensors[name] = (await transfer.upload({ [ONE]: float32(values, shape) }))[ONE]!;
      }
    }
    return new HeldBase(tensors, scale, transfers);
  }

  /** Only when nothing reads it any more. */
  async close(): Promise<void> {
    discard(Object.values(this.#tensors));
    for (const transfer of this.#transfers) await transfer.close();
  }
}

/** A base on a device that keeps tensors; undefined on one that does not, and where there is no base. */
export const heldOn = async (device: Device = cpu, base?: Base): Promise<HeldBase | undefined> =>
  base !== undefined && isResident(device) ? HeldBase.open(base, device) : undefined;
