/**
 * Writes and reads fields of protobuf messages one by one, by their numbers. A function named after a type leaves out the type's
 * default value, as proto3 does; an element is always written. Invariant: unnamed fields are skipped, and bytes that are no
 * message throw.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export { type BinaryReader, type BinaryWriter, WireType };

export type WriteFields = (writer: BinaryWriter) => void;

/** The bytes of a message. */
export const encoded = (fill: WriteFields): Uint8Array<ArrayBuffer> => {
  const writer = new BinaryWriter();
  fill(writer);
  return writer.finish();
};

/** Writes a message as a field of another one. */
export const message = (writer: BinaryWriter, field: number, fill: WriteFields): void => {
  writer.tag(field, WireType.LengthDelimited).fork();
  fill(writer);
  writer.join();
};

export const text = (writer: BinaryWriter, field: number, value: string): void => {
  if (value !== "") textElement(writer, field, value);
};

/** Writes one text of a repeated field, or a text whose empty value has a meaning. */
export const textElement = (writer: BinaryWriter, field: number, value: string): void => {
  writer.tag(field, WireType.LengthDelimited).string(value);
};

export const bytes = (writer: BinaryWriter, field: number, value: Uint8Array): void => {
  writer.tag(field, WireType.LengthDelimited).bytes(value);
};

/** Writes an integer up to 2^53, or the number of an enumeration's case. */
export const integer = (writer: BinaryWriter, field: number, value: number): void => {
  if (value !== 0) integerElement(writer, field, value);
};

/** Writes one integer of an unpacked repeated field, or one whose 0 has a meaning. */
export const integerElement = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Varint).int64(value);
};

export const flag = (writer: BinaryWriter, field: number, value: boolean): void => {
  if (value) writer.tag(field, WireType.Varint).bool(true);
};

/** Writes the value even if it is 0. */
export const float = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Bit32).float(value);
};

/** Writes the value even if it is 0. */
export const double = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Bit64).double(value);
};

/** Writes a packed repeated double. */
export const doubles = (writer: BinaryWriter, field: number, values: readonly number[]): void => {
  writer.tag(field, WireType.LengthDelimited).fork();
  for (const value of values) writer.double(value);
  writer.join();
};

/** Reads the value of one field. */
export type ReadField = (reader: BinaryReader, wire: WireType) => void;
export type Fields = Readonly<Record<number, ReadField>>;

const readUntil = (reader: BinaryReader, end: number, fields: Fields): void => {
  while (reader.pos < end) {
    const [field, wire] = reader.tag();
    const read = fields[field];
    if (read === undefined) reader.skip(wire, field);
    else read(reader, wire);
  }
};

/** Reads the named fields of a message. */
export const readFields = (body: Uint8Array, fields: Fields): void => {
  const reader = new BinaryReader(body);
  readUntil(reader, reader.len, fields);
};

/** Reads the named fields of a message inside another one. */
export const readMessage = (reader: BinaryReader, fields: Fields): void => {
  const length = reader.uint32();
  readUntil(reader, reader.pos + length, fields);
};
