/** Fields of protobuf messages as bytes; a message is its fields end to end. As much of the format as event files need. Pure. */

const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const rawVarint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
};

const tag = (field: number, type: number): number[] => rawVarint(field * 8 + type);

/** An integer from 0 to 2^53, or the number of an enumeration's case. */
export const varint = (field: number, value: number): Uint8Array =>
  Uint8Array.from([...tag(field, wire.varint), ...rawVarint(value)]);

export const double = (field: number, value: number): Uint8Array => {
  const head = tag(field, wire.fixed64);
  const bytes = new Uint8Array(head.length + 8);
  bytes.set(head);
  new DataView(bytes.buffer).setFloat64(head.length, value, true);
  return bytes;
};

export const float = (field: number, value: number): Uint8Array => {
  const head = tag(field, wire.fixed32);
  const bytes = new Uint8Array(head.length + 4);
  bytes.set(head);
  new DataView(bytes.buffer).setFloat32(head.length, value, true);
  return bytes;
};

/** Bytes, a text or a message inside the message. */
export const bytes = (field: number, value: Uint8Array | string): Uint8Array => {
  const content = typeof value === "string" ? Buffer.from(value, "utf8") : value;
  return Buffer.concat([Uint8Array.from([...tag(field, wire.bytes), ...rawVarint(content.length)]), content]);
};

export const message = (...fields: readonly Uint8Array[]): Uint8Array => Buffer.concat(fields);

/** A repeated double, packed. */
export const doubles = (field: number, values: readonly number[]): Uint8Array =>
  bytes(field, new Uint8Array(Float64Array.from(values).buffer));
