/**
 * Tensors between host memory and a device that keeps them, by name: two models that copy. On a device that keeps nothing both are idle and
 * tensors stay where they are. Invariant: a tensor moves once for each call.
 */
import type { Device } from "../../domain/Device.ts";
import { Graph } from "../tensor/Graph.ts";
import { halfForm } from "../tensor/HalfForm.ts";
import type { OnnxModel } from "../tensor/Onnx.ts";
import type { Shape } from "../tensor/Shape.ts";
import { type DeviceTensor, discard, type Feeds, Session } from "./Session.ts";

export interface TensorSpec {
  readonly name: string;
  readonly shape: Shape;
  /** Type on the device; default float32. */
  readonly type?: "float32" | "float16";
}

const copyName = (name: string): string => `copy of ${name}`;

const copyModel = (specs: readonly TensorSpec[]): OnnxModel => {
  const graph = new Graph("transfer");
  for (const { name, shape } of specs) graph.output(copyName(name), graph.input(name, "float32", shape));
  return halfForm(
    graph.toModel(),
    specs.filter(({ type }) => type === "float16").map(({ name }) => copyName(name)),
  );
};

export type Tensors = Readonly<Record<string, DeviceTensor>>;

export class Transfer {
  readonly #specs: readonly TensorSpec[];
  readonly #up: Session;
  readonly #down: Session;

  private constructor(specs: readonly TensorSpec[], up: Session, down: Session) {
    this.#specs = specs;
    this.#up = up;
    this.#down = down;
  }

  static async open(specs: readonly TensorSpec[], device: Device): Promise<Transfer> {
    const model = copyModel(specs);
    const up = await Session.open(model, { device, keptOutputs: specs.map(({ name }) => copyName(name)) });
    return new Transfer(specs, up, await Session.open(model, { device }));
  }

  /** Copies on the device; the caller owns them. */
  async upload(tensors: Feeds): Promise<Tensors> {
    using outputs = await this.#up.run(tensors);
    return Object.fromEntries(this.#specs.map(({ name }) => [name, outputs.take(copyName(name))]));
  }

  /** Copies in host memory, in the order of the specs. */
  async download(tensors: Feeds): Promise<readonly Float32Array[]> {
    using outputs = await this.#down.run(tensors);
    return this.#specs.map(({ name }) => outputs.float32(copyName(name)));
  }

  async close(): Promise<void> {
    await this.#up.close();
    await this.#down.close();
  }
}

/** Lets go of tensors that `upload` gave. */
export const release = (tensors: Tensors): void => discard(Object.values(tensors));
