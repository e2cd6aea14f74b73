/**
 * A device failure as one message for the user: the device, what happened and what to do. The runtime's errors differ by their text
 * alone.
 * A run that ends this way keeps its checkpoints, because they are written from the CPU and renamed.
 */
import { type Device, format } from "../../domain/Device.ts";

export type DeviceFault = "no_adapter" | "no_provider" | "lost" | "out_of_memory";

export class DeviceError extends Error {
  readonly fault: DeviceFault;

  constructor(fault: DeviceFault, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = "DeviceError";
    this.fault = fault;
  }
}

const faultPatterns: readonly (readonly [DeviceFault, RegExp])[] = [
  [
    "no_adapter",
    /Failed to get a WebGPU (?:adapter|device)|No supported adapters|CUDA failure 100\b|no CUDA-capable device/i,
  ],
  [
    "no_provider",
    /libonnxruntime_providers_\w+|Failed to load (?:shared )?library|is unsupported: '|not find(?:able)? .*provider|CUDA_PATH|backend not found/i,
  ],
  ["lost", /device (?:is|was) lost|DeviceLost|DEVICE_LOST|lost device/i],
  [
    "out_of_memory",
    /out of memory|OUT_OF_(?:DEVICE|HOST)_MEMORY|exceeds the max(?:imum)? buffer size|Failed to allocate|bad_alloc|CUDA failure 2\b/i,
  ],
];

/** Advice by fault and kind of device. */
const adviceByFault: Readonly<Record<"no_adapter" | "no_provider", Readonly<Record<Device["kind"], string>>>> = {
  no_adapter: {
    cpu: "",
    webgpu:
      "no WebGPU adapter was found; install the GPU's driver and its Vulkan loader (Debian: apt-get install libvulkan1), or use cpu",
    cuda: "no CUDA card was found under that index; see `nvidia-smi`, or use cpu",
  },
  no_provider: {
    cpu: "",
    webgpu: "this installation of onnxruntime-node has no WebGPU provider; use cpu",
    cuda: "this installation of onnxruntime-node has no CUDA provider; run node_modules/onnxruntime-node/script/install.js once, which downloads it, or use webgpu or cpu",
  },
};

const faultMessage = (fault: DeviceFault, device: Device): string => {
  const name = format(device);
  switch (fault) {
    case "lost":
      return `${name}: the device was lost (a driver reset, or another program's fault); nothing is computed on it any more. Go on from the newest checkpoint with --resume, or on model.device=cpu`;
    case "out_of_memory":
      return `${name}: out of device memory; lower actor.micro_batch_tokens, generation.slots or rollout.max_model_len, and go on from the newest checkpoint with --resume`;
    default:
      return `${name}: ${adviceByFault[fault][device.kind]}`;
  }
};

/** Turns a device's failure into a DeviceError; any other error stays as it is. */
export const explainDeviceError = (error: unknown, device: Device): unknown => {
  if (device.kind === "cpu" || error instanceof DeviceError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const fault = faultPatterns.find(([, pattern]) => pattern.test(text))?.[0];
  return fault === undefined ? error : new DeviceError(fault, faultMessage(fault, device), { cause: error });
};
