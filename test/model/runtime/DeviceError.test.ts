import { expect, it } from "vitest";
import { parse } from "../../../src/domain/Device.ts";
import { DeviceError, explainDeviceError } from "../../../src/model/runtime/DeviceError.ts";

const webgpu = parse("webgpu")!;

it.each([
  ["webgpu", "Failed to get a WebGPU adapter: No supported adapters", "no_adapter"],
  ["cuda", "OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library", "no_provider"],
  ["cuda", "CUDA failure 100: no CUDA-capable device is detected", "no_adapter"],
  ["webgpu", "A valid external Instance reference no longer exists. Device is lost.", "lost"],
  ["webgpu", "vkQueueSubmit failed with VK_ERROR_DEVICE_LOST", "lost"],
  ["webgpu", "vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY", "out_of_memory"],
] as const)("of %s: %s", (name, text, fault) => {
  const error = explainDeviceError(new Error(text), parse(name)!);
  expect(error).toBeInstanceOf(DeviceError);
  expect(error).toMatchObject({ fault });
  expect(String(error)).toContain(`${name}: `);
});

it("keeps the runtime's own error as the cause", () => {
  const cause = new Error("Device is lost");
  expect(explainDeviceError(cause, webgpu)).toMatchObject({ cause });
});

it("leaves another error as it is", () => {
  const error = new Error("Gather: indices element out of data bounds");
  expect(explainDeviceError(error, webgpu)).toBe(error);
});
