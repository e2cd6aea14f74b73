import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { Effect, Result } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as GroupCodec from "../../../src/remote/workers/GroupCodec.ts";
import { assertProperty } from "../../property.ts";
import { anyGroup, groupWith, plainTurn, prompt } from "./groups.ts";

const decode = (bytes: Uint8Array) => Effect.runPromise(Effect.result(GroupCodec.decode(bytes, prompt)));
const encode = (group: Parameters<typeof GroupCodec.encode>[0]) => Effect.runPromise(GroupCodec.encode(group));

/** Bits of every number: NaN, -0 and what a float32 makes of a number included. */
const bits = (value: unknown): unknown =>
  JSON.stringify(value, (_, each) => {
    if (ArrayBuffer.isView(each)) return Buffer.from(each.buffer, each.byteOffset, each.byteLength).toString("hex");
    if (typeof each === "number") return Buffer.from(Float64Array.of(each).buffer).toString("hex");
    const isBag = typeof each === "object" && each !== null && !Array.isArray(each);
    return isBag ? Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)) : each;
  });

describe("a group as bytes", () => {
  it("comes back with the same bits, whatever it holds", async () => {
    await assertProperty(
      fc.asyncProperty(anyGroup, async (group) => {
        const back = Result.getOrThrow(await decode(await encode(group)));
        expect(bits(back)).toBe(bits(group));
        expect(back).toEqual(group);
      }),
      { numRuns: 200 },
    );
  });

  it("takes about ten bytes a token where its texts are short", async () => {
    const length = 400;
    const long = {
      ...plainTurn,
      sampled: {
        ids: Int32Array.from({ length }, (_, i) => (i * 7919) % 49_152),
        mu: Float32Array.from({ length }, (_, i) => Math.log((i + 1) / (length + 2))),
        versions: new Int32Array(length).fill(3),
        entropies: Float32Array.from({ length }, (_, i) => Math.sin(i) ** 2),
        finish: "length" as const,
      },
    };
    const { byteLength } = await encode(groupWith(long));
    // Both members play the same: the second costs nearly nothing.
    expect(byteLength).toBeLessThan(12 * length);
  });

  it("ends in an error of its own, whatever the bytes are", async () => {
    const good = await encode(groupWith());
    const plain = await promisify(zstdDecompress)(good);
    const damaged = fc.tuple(fc.nat(plain.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
      const copy = Buffer.from(plain);
      copy[at] = (copy[at] ?? 0) ^ by;
      return copy;
    });
    await assertProperty(
      fc.asyncProperty(fc.oneof(damaged, fc.uint8Array({ maxLength: 64 })), async (bytes) => {
        const result = await decode(await promisify(zstdCompress)(bytes));
        if (Result.isFailure(result)) expect(result.failure._tag).toBe("BadGroup");
      }),
      { numRuns: 300 },
    );
    expect(Result.isFailure(await decode(Uint8Array.of(1, 2, 3)))).toBe(true);
    expect(Result.isFailure(await decode(good.subarray(0, -1)))).toBe(true);
  });

  it("does not unpack more than it may", async () => {
    const bomb = await promisify(zstdCompress)(Buffer.alloc(2 ** 27 + 1));
    expect(bomb.length).toBeLessThan(100_000);
    expect(Result.isFailure(await decode(bomb))).toBe(true);
  });
});
