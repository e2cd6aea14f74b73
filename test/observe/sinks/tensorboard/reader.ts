/** A small reader of event files, written from the formats alone: TFRecord frames and protobuf fields. It shares nothing with the writer. */
import { ok } from "node:assert/strict";

/** CRC-32C bit by bit. */
export const slowCrc32c = (bytes: Uint8Array): number => {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0x82f63b78 & -(crc & 1));
  }
  return ~crc >>> 0;
};

const masked = (bytes: Uint8Array): number => {
  const crc = BigInt(slowCrc32c(bytes));
  const rotated = ((crc >> 15n) | (crc << 17n)) & 0xffffffffn;
  return Number((rotated + 0xa282ead8n) & 0xffffffffn);
};

/** The events of a file; throws on a wrong checksum or a torn record. */
export const framesOf = (file: Buffer): readonly Buffer[] => {
  const frames: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(file.readBigUInt64LE(at));
    ok(file.readUInt32LE(at + 8) === masked(file.subarray(at, at + 8)), "checksum of a length");
    const data = file.subarray(at + 12, at + 12 + length);
    ok(data.length === length, "torn record");
    ok(file.readUInt32LE(at + 12 + length) === masked(data), "checksum of a record");
    frames.push(data);
    at += 16 + length;
  }
  return frames;
};

export type Field = number | Buffer;

/** Fields of a message by number, in order. */
export const fieldsOf = (message: Buffer): ReadonlyMap<number, readonly Field[]> => {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = message[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  const read = (wire: number): Field => {
    if (wire === 0) return varint();
    const length = wire === 1 ? 8 : wire === 5 ? 4 : varint();
    at += length;
    if (wire === 1) return message.readDoubleLE(at - 8);
    if (wire === 5) return message.readFloatLE(at - 4);
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = varint();
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), read(key & 7)]);
  }
  return fields;
};

/** The one field of this number as text, message or number; undefined where there is none. */
export const one = (message: Buffer, field: number): Field | undefined => fieldsOf(message).get(field)?.[0];

export const text = (message: Buffer, field: number): string | undefined => {
  const value = one(message, field);
  return Buffer.isBuffer(value) ? value.toString("utf8") : undefined;
};

export const inner = (message: Buffer, field: number): Buffer => {
  const value = one(message, field);
  ok(Buffer.isBuffer(value), `field ${field} is a message`);
  return value;
};

export interface Shown {
  readonly step: number;
  readonly time: number;
  readonly tag: string;
  readonly value: Buffer;
}

/** Values of all summaries. */
export const valuesOf = (file: Buffer): readonly Shown[] =>
  framesOf(file).flatMap((event) => {
    const summary = one(event, 5);
    if (!Buffer.isBuffer(summary)) return [];
    const [time, step] = [Number(one(event, 1)), Number(one(event, 2) ?? 0)];
    return (fieldsOf(summary).get(1) ?? []).map((value) => {
      ok(Buffer.isBuffer(value));
      return { step, time, tag: text(value, 1) ?? "", value };
    });
  });

/** The step of the event that marks a start of the run; undefined where a file has none. */
export const startOf = (file: Buffer): number | undefined => {
  const start = framesOf(file).find((event) => one(event, 7) !== undefined);
  return start === undefined ? undefined : Number(one(start, 2) ?? 0);
};
