/**
 * Uploads tensors of any size to a device one after the other, so the extra memory of an upload is needed only once.
 * Host memory is always float32; for float16 the device rounds.
 * Invariant: the memory belongs to the uploading sessions, so they stay open as long as the tensors are used.
 */
import type { Device } from "../../domain/Device.ts";
import { Graph } from "../tensor/Graph.ts";
import { halfForm } from "../tensor/HalfForm.ts";
import { reshape, slice } from "../tensor/Layout.ts";
import { type DeviceTensor, type Float32Tensor, Session } from "./Session.ts";

const dimNames = ["a", "b", "c", "d"] as const;

/** Number format on the device. */
export type DeviceFloat = "float32" | "float16";

/** Input: a tensor. Outputs: the tensor on the device, and one of its numbers, which tells that the upload is done. */
const uploadGraph = (rank: number, type: DeviceFloat) => {
  const graph = new Graph("upload");
  const tensor = graph.input("tensor", "float32", dimNames.slice(0, rank));
  graph.output("there", tensor);
  graph.output("done", slice(reshape(tensor, [-1]), 0, 0, 1));
  return halfForm(graph.toModel(), type === "float16" ? ["there"] : []);
};

export class Uploader {
  readonly #device: Device;
  /** One for each rank and type, opened when first needed. */
  readonly #sessions = new Map<string, Promise<Session>>();

  constructor(device: Device) {
    this.#device = device;
  }

  /** The caller owns the result. */
  async upload(tensor: Float32Tensor, type: DeviceFloat): Promise<DeviceTensor> {
    const rank = tensor.dims.length;
    const key = `${type} ${rank}`;
    const session =
      this.#sessions.get(key) ??
      Session.open(uploadGraph(rank, type), { device: this.#device, keptOutputs: ["there"] });
    this.#sessions.set(key, session);
    using outputs = await (await session).run({ tensor });
    return outputs.take("there");
  }

  /** Once the tensors are let go. */
  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await (await session).close();
  }
}
