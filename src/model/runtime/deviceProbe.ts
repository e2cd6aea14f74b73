/** Probes a device by computing on it. The runtime is loaded only for devices other than the CPU. */
import { type Device, format } from "../../domain/Device.ts";
import { mul } from "../tensor/Elementwise.ts";
import { Graph } from "../tensor/Graph.ts";
import { halfForm } from "../tensor/HalfForm.ts";
import { DeviceError } from "./DeviceError.ts";

/** Resolves to the device's problem, undefined if it works. */
export const deviceProblem = async (device: Device): Promise<string | undefined> => {
  if (device.kind === "cpu") return undefined;
  const { float32, Session } = await import("./Session.ts");
  const graph = new Graph("probe");
  graph.output("y", mul(graph.input("x", "float32", [1]), 2));
  try {
    await using session = await Session.open(graph.toModel(), { device });
    using outputs = await session.run({ x: float32(Float32Array.of(3), [1]) });
    const [doubled] = outputs.float32("y");
    return doubled === 6 ? undefined : `${format(device)}: it computes 2 x 3 as ${doubled}; use cpu`;
  } catch (error) {
    if (error instanceof DeviceError) return error.message;
    return `${format(device)}: ${error instanceof Error ? error.message : String(error)}`;
  }
};

/** Resolves to whether a device that is there computes in float16. */
export const hasFloat16 = async (device: Device): Promise<boolean> => {
  const { discard, float32, Session } = await import("./Session.ts");
  const graph = new Graph("probe");
  graph.output("y", mul(graph.input("x", "float32", [1]), 2));
  try {
    await using session = await Session.open(halfForm(graph.toModel(), ["y"]), { device, keptOutputs: ["y"] });
    using outputs = await session.run({ x: float32(Float32Array.of(3), [1]) });
    discard([outputs.take("y")]);
    return true;
  } catch {
    return false;
  }
};
