import { expect, it } from "vitest";
import { format, parse } from "../../src/domain/Device.ts";

it.each(["cpu", "webgpu", "webgpu:1", "cuda", "cuda:12"])("%s is read and written alike", (text) => {
  const device = parse(text);
  expect(device).toBeDefined();
  if (device !== undefined) expect(format(device)).toBe(text);
});

it.each(["", "gpu", "webgpu:2", "cpu:1", "cuda:-1", "CUDA"])("%j is no device", (text) => {
  expect(parse(text)).toBeUndefined();
});
