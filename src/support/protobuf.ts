/**
 * Fields of protobuf messages, written and read one by one by their numbers. What is named after its type leaves out a value that is the
 * type's default, as a field of proto3 does; an element is always written. Invariant: a field that is not named is passed over, and bytes that
 * are no message throw.
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

/** A message inside the message. */
export const message = (writer: BinaryWriter, field: number, fill: WriteFields): void => {
  writer.tag(field, WireType.LengthDelimited).fork();
  fill(writer);
  writer.join();
};

export const text = (writer: BinaryWriter, field: number, value: string): void => {
  if (value !== "") textElement(writer, field, value);
};

/** One text of a repeated field, or of one where an empty text says something. */
export const textElement = (writer: BinaryWriter, field: number, value: string): void => {
  writer.tag(field, WireType.LengthDelimited).string(value);
};

export const bytes = (writer: BinaryWriter, field: number, value: Uint8Array): void => {
  writer.tag(field, WireType.LengthDelimited).bytes(value);
};

/** An integer up to 2^53, or the number of an enumeration's case. */
export const integer = (writer: BinaryWriter, field: number, value: number): void => {
  if (value !== 0) integerElement(writer, field, value);
};

/** One integer of a repeated field that is not packed, or of one where 0 says something. */
export const integerElement = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Varint).int64(value);
};

export const flag = (writer: BinaryWriter, field: number, value: boolean): void => {
  if (value) writer.tag(field, WireType.Varint).bool(true);
};

/** Also 0. */
export const float = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Bit32).float(value);
};

/** Also 0. */
export const double = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Bit64).double(value);
};

/** A repeated double, packed. */
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

/** Reads the fields of a message that are named. */
export const readFields = (body: Uint8Array, fields: Fields): void => {
  const reader = new BinaryReader(body);
  readUntil(reader, reader.len, fields);
};

/** The same of a message inside the message. */
export const readMessage = (reader: BinaryReader, fields: Fields): void => {
  const length = reader.uint32();
  readUntil(reader, reader.pos + length, fields);
};
