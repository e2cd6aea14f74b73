import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeInto,
  encode,
  type FloatFormat,
  firstOverflow,
  round,
} from "../../../src/model/checkpoint/FloatFormat.ts";
import { assertProperty } from "../../property.ts";

const decode = (format: FloatFormat, bytes: Uint8Array): Float32Array => {
  const values = new Float32Array(bytes.byteLength / (format === "F32" ? 4 : 2));
  decodeInto(format, bytes, values, 0);
  return values;
};

const everyPattern = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
const bytesOf = (bits: Uint16Array): Uint8Array => new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength);

describe.each(["F16", "BF16"] as const)("%s", (format) => {
  it("gives every bit pattern back after decoding and encoding, and keeps NaN a NaN", () => {
    const values = decode(format, bytesOf(everyPattern));
    const again = new Uint16Array(encode(format, values).buffer);
    const wrong = everyPattern.filter((bits, i) => !Number.isNaN(values[i]) && again[i] !== bits);
    expect(wrong).toEqual(new Uint16Array());
    const nan = values.filter(Number.isNaN);
    expect(nan.length).toBe(format === "F16" ? 2 * 1023 : 2 * 127);
    expect(decode(format, encode(format, nan)).every(Number.isNaN)).toBe(true);
  });

  it("rounds to the nearest value, ties to the even one", () => {
    const finite = [
      ...new Set(decode(format, bytesOf(everyPattern)).filter((value) => value >= 0 && Number.isFinite(value))),
    ].sort((a, b) => a - b);
    assertProperty(
      fc.property(fc.nat(finite.length - 2), fc.double({ min: 0, max: 1, noNaN: true }), (index, share) => {
        const [below = Number.NaN, above = Number.NaN] = finite.slice(index, index + 2);
        const value = Math.fround(below + (above - below) * share);
        const evenOfTie = index % 2 === 0 ? below : above;
        const distance = value - below - (above - value);
        const expected = distance < 0 ? below : distance > 0 ? above : evenOfTie;
        expect(round(format, value)).toBe(expected);
        expect(round(format, -value)).toBe(-expected);
      }),
      { numRuns: 2000 },
    );
  });

  it("names the first finite value that would become an infinity", () => {
    const largest = format === "F16" ? 65504 : 3.3895313892515355e38;
    const halfStep = format === "F16" ? 16 : 2 ** 119;
    const below = Math.fround(largest + halfStep * 0.999);
    const tie = Math.fround(largest + halfStep);
    expect(round(format, below)).toBe(largest);
    expect(round(format, tie)).toBe(Number.POSITIVE_INFINITY);
    expect(firstOverflow(format, Float32Array.of(1, Number.POSITIVE_INFINITY, Number.NaN, below, -tie))).toBe(4);
  });
});

it("decodes a block that starts at an odd byte", () => {
  const shifted = new Uint8Array(9).subarray(1);
  shifted.set(encode("BF16", Float32Array.of(1, -2, 0.5, 4)));
  expect(decode("BF16", shifted)).toEqual(Float32Array.of(1, -2, 0.5, 4));
});

it("keeps float32 bits exactly", () => {
  assertProperty(
    fc.property(fc.float32Array({ maxLength: 50 }), (values) => {
      expect(decode("F32", encode("F32", values).slice())).toEqual(values);
    }),
  );
});
