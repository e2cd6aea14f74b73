import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BLOCK_BYTES,
  type FramedRecord,
  frameRecord,
  HEADER,
  records,
} from "../../../../src/observe/sinks/wandb/Blocks.ts";
import type { ByteSource } from "../../../../src/support/files/JsonLines.ts";
import { assertProperty } from "../../../property.ts";

const sourceOf = (bytes: Buffer): ByteSource => ({
  size: bytes.length,
  read: async (at, length) => bytes.subarray(at, at + length),
});

const fileOf = (payloads: readonly Uint8Array[]): Buffer =>
  payloads.reduce<Buffer>(
    (file, payload) => Buffer.concat([file, frameRecord(payload, file.length)]),
    Buffer.from(HEADER),
  );

const readAll = async (bytes: Buffer, from?: number): Promise<readonly FramedRecord[]> => {
  const read: FramedRecord[] = [];
  for await (const next of records(sourceOf(bytes), from)) read.push(next);
  return read;
};

const filled = (length: number, value = 7): Uint8Array => new Uint8Array(length).fill(value);
/** Leaves exactly `left` bytes of the first block. */
const upTo = (left: number): Uint8Array => filled(BLOCK_BYTES - HEADER.length - 7 - left);

describe("blocks", () => {
  it("give back what was written, whatever its length", async () => {
    const lengths = fc.array(fc.oneof(fc.nat(50), fc.integer({ min: 32_700, max: 32_780 }), fc.nat(200_000)), {
      maxLength: 8,
    });
    await assertProperty(
      fc.asyncProperty(lengths, async (all) => {
        const payloads = all.map((length, index) => filled(length, index + 1));
        const read = await readAll(fileOf(payloads));
        expect(read.map(({ payload }) => payload.length)).toEqual(all);
        expect(read.every(({ payload }, index) => payload.equals(payloads[index]!))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it.each([0, 1, 6, 7, 8])("go on where %i bytes of a block are left", async (left) => {
    const payloads = [upTo(left), filled(3), filled(0)];
    const file = fileOf(payloads);
    expect((await readAll(file)).map(({ payload }) => payload.length)).toEqual(payloads.map(({ length }) => length));
    // A block's last bytes are zero where no chunk header fits.
    if (left < 7) expect(file.subarray(BLOCK_BYTES - left, BLOCK_BYTES)).toEqual(Buffer.alloc(left));
  });

  it("are the same however the file was cut and gone on with", async () => {
    const payloads = [filled(20), filled(70_000), filled(5)];
    const file = fileOf(payloads);
    for (const { end } of await readAll(file)) {
      const rest = (await readAll(file, end)).map(({ payload }) => payload);
      const again = rest.reduce<Buffer>(
        (bytes, payload) => Buffer.concat([bytes, frameRecord(payload, bytes.length)]),
        file.subarray(0, end),
      );
      expect(again.equals(file)).toBe(true);
    }
  });

  it("end before a torn record, wherever it is torn, and before a damaged one", async () => {
    const whole = fileOf([filled(20), filled(33_000)]);
    const { end } = (await readAll(whole))[0]!;
    for (const cut of [end, end + 1, end + 6, end + 7, end + 100, BLOCK_BYTES, BLOCK_BYTES + 3, whole.length - 1]) {
      expect(await readAll(whole.subarray(0, cut))).toHaveLength(1);
    }
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(end + 500) ^ 1, end + 500);
    expect(await readAll(damaged)).toHaveLength(1);
  });

  it("have the checksum that W&B reads: plain CRC-32 of type and data", () => {
    // CRC-32 of the bytes 01 61 62 63.
    expect(frameRecord(Buffer.from("abc"), HEADER.length).toString("hex")).toBe("a9209d53030001616263");
  });
});
