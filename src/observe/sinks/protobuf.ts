/** Fields of protobuf messages, written one by one. What is named after its type leaves out a value that is the type's default. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export type { BinaryWriter };
export type Fill = (writer: BinaryWriter) => void;

/** The bytes of a message. */
export const encoded = (fill: Fill): Uint8Array<ArrayBuffer> => {
  const writer = new BinaryWriter();
  fill(writer);
  return writer.finish();
};

/** A message inside the message. */
export const message = (writer: BinaryWriter, field: number, fill: Fill): void => {
  writer.tag(field, WireType.LengthDelimited).fork();
  fill(writer);
  writer.join();
};

export const text = (writer: BinaryWriter, field: number, value: string): void => {
  if (value !== "") element(writer, field, value);
};

/** One text of a repeated field, or of one where an empty text says something. */
export const element = (writer: BinaryWriter, field: number, value: string): void => {
  writer.tag(field, WireType.LengthDelimited).string(value);
};

export const bytes = (writer: BinaryWriter, field: number, value: Uint8Array): void => {
  writer.tag(field, WireType.LengthDelimited).bytes(value);
};

/** An integer up to 2^53, or the number of an enumeration's case. */
export const integer = (writer: BinaryWriter, field: number, value: number): void => {
  if (value !== 0) writer.tag(field, WireType.Varint).int64(value);
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
