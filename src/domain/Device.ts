/**
 * The device on which a role's sessions compute: `cpu`, `webgpu` or `cuda`, the last two with an index behind a colon (default 0).
 * Invariant: `format` of a parsed device parses to the same device.
 */

export const deviceKinds = ["cpu", "webgpu", "cuda"] as const;
export type DeviceKind = (typeof deviceKinds)[number];

export interface Device {
  readonly kind: DeviceKind;
  /** WebGPU 0 is the adapter for speed, 1 the one that saves power; for CUDA it is the card. Always 0 for the CPU. */
  readonly index: number;
}

export const cpu: Device = { kind: "cpu", index: 0 };

/** The syntax that `parse` accepts. */
export const devicePattern = /^(?:cpu|webgpu(?::[01])?|cuda(?::\d{1,2})?)$/;

/** Undefined where the text names no device. */
export const parse = (text: string): Device | undefined => {
  if (!devicePattern.test(text)) return undefined;
  const [name, index = "0"] = text.split(":");
  const kind = deviceKinds.find((one) => one === name);
  return kind === undefined ? undefined : { kind, index: Number(index) };
};

export const format = ({ index, kind }: Device): string => (index === 0 ? kind : `${kind}:${index}`);

/** True if tensors stay on the device between runs: the runtime's Node binding can keep them on WebGPU only. */
export const isResident = ({ kind }: Device): boolean => kind === "webgpu";
