import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32c, masked } from "../../../../src/observe/sinks/tensorboard/Crc32c.ts";
import { assertProperty } from "../../../property.ts";
import { slowCrc32c } from "./reader.ts";

describe("CRC-32C", () => {
  it("has the check value of its definition", () => {
    expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(0))).toBe(0);
  });

  it("is the same bit by bit", () => {
    assertProperty(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => crc32c(bytes) === slowCrc32c(bytes)));
  });

  it("is masked by a rotation and a constant", () => {
    expect(masked(0)).toBe(0xa282ead8);
    expect(masked(0xe3069283)).toBe(((((0xe3069283 >>> 15) | (0xe3069283 << 17)) >>> 0) + 0xa282ead8) % 2 ** 32);
  });
});
