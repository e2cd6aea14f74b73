/**
 * The protobuf bodies of a Tinker server, by field numbers: passes and samples. Arrays are little-endian bytes, as in this machine's
 * memory. Answers are untrusted: lengths are checked before use.
 */
import { Result } from "effect";
import {
  type BinaryReader,
  type BinaryWriter,
  bytes,
  double,
  encoded,
  flag,
  integerElement,
  message,
  readFields,
  readMessage,
  textElement,
  WireType,
} from "../../../support/protobuf.ts";
import type { Datum, PassOutput, PassRequest } from "./Data.ts";
import type { SampledSequence, SampleOutput } from "./Sample.ts";

const FLOAT32 = 1;
const INT64 = 2;

const bytesOf = ({ buffer, byteLength, byteOffset }: Int32Array | Float32Array | BigInt64Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

const writeTensor = (writer: BinaryWriter, values: Int32Array | Float32Array): void => {
  const isFloat = values instanceof Float32Array;
  bytes(writer, 1, bytesOf(isFloat ? values : BigInt64Array.from(values, BigInt)));
  integerElement(writer, 3, isFloat ? FLOAT32 : INT64);
  message(writer, 4, () => writer.int64(values.length));
};

const writeDatum = (writer: BinaryWriter, { tensors, tokens }: Datum): void => {
  message(writer, 1, () => message(writer, 1, () => bytes(writer, 1, bytesOf(tokens))));
  for (const [name, values] of Object.entries(tensors)) {
    message(writer, 2, () => {
      textElement(writer, 1, name);
      message(writer, 2, () => writeTensor(writer, values));
    });
  }
};

/** Writes a ForwardBackwardRequest. */
export const passBody = ({ config, data, forwardOnly, loss, modelId, sequence }: PassRequest): Uint8Array =>
  encoded((writer) => {
    textElement(writer, 1, modelId);
    integerElement(writer, 2, sequence);
    for (const each of data) message(writer, 3, () => writeDatum(writer, each));
    textElement(writer, 4, loss);
    for (const [name, value] of Object.entries(config ?? {})) {
      message(writer, 5, () => {
        textElement(writer, 1, name);
        double(writer, 2, value);
      });
    }
    flag(writer, 6, forwardOnly);
  });

/** Copies bytes into a buffer of their own, for elements of `size` bytes. */
const copied = (part: Uint8Array, size: number): ArrayBuffer => {
  if (part.byteLength % size !== 0) throw new RangeError(`${part.byteLength} bytes are no array of ${size}`);
  return new Uint8Array(part).buffer;
};

const floats = (part: Uint8Array): Float32Array => new Float32Array(copied(part, 4));

interface ArrayBatch {
  data: Uint8Array;
  offsets: Uint8Array;
  dtype: number;
}

/** Returns the arrays of each datum. Throws if the offsets do not fit the data. */
const split = ({ data, dtype, offsets }: ArrayBatch): readonly Float32Array[] => {
  if (dtype !== FLOAT32) throw new RangeError(`an array of dtype ${dtype} is none of floats`);
  const bounds = Array.from(new BigInt64Array(copied(offsets, 8)), Number);
  return bounds.slice(1).map((to, i) => {
    const from = bounds[i] ?? 0;
    if (!(from >= 0 && from <= to && to <= data.byteLength)) throw new RangeError("its offsets are outside its data");
    return floats(data.subarray(from, to));
  });
};

const none = new Uint8Array();

const readField = (reader: BinaryReader, into: Map<string, readonly Float32Array[]>): void => {
  let name = "";
  const tensor: ArrayBatch = { data: none, offsets: none, dtype: 0 };
  readMessage(reader, {
    1: (r) => {
      name = r.string();
    },
    2: (r) =>
      readMessage(r, {
        1: (inner) => {
          tensor.data = inner.bytes();
        },
        2: (inner) => {
          tensor.offsets = inner.bytes();
        },
        3: (inner) => {
          tensor.dtype = inner.int32();
        },
      }),
  });
  // Skip fields that are not float arrays.
  if (tensor.dtype === FLOAT32) into.set(name, [...(into.get(name) ?? []), ...split(tensor)]);
};

const readMetric = (reader: BinaryReader, into: Map<string, number>): void => {
  let name = "";
  let value = Number.NaN;
  readMessage(reader, {
    1: (r) => {
      name = r.string();
    },
    2: (r, wire) => {
      value = wire === WireType.Bit32 ? r.float() : r.double();
    },
  });
  if (Number.isFinite(value)) into.set(name, value);
};

/** Returns the message that `read` decodes, or why it is none. */
const attemptRead = <A>(read: () => A): Result.Result<A, string> => {
  try {
    return Result.succeed(read());
  } catch (error) {
    return Result.fail(`no protobuf of a result: ${error instanceof Error ? error.message : String(error)}`);
  }
};

/** Reads a ForwardBackwardOutput. */
export const readPass = (body: Uint8Array): Result.Result<PassOutput, string> =>
  attemptRead(() => {
    const output = new Map<string, readonly Float32Array[]>();
    const metrics = new Map<string, number>();
    readFields(body, {
      2: (reader) => readMessage(reader, { 2: (inner) => readField(inner, output) }),
      3: (reader) => readMetric(reader, metrics),
    });
    return { fields: output, metrics };
  });

const readSequence = (reader: BinaryReader): SampledSequence => {
  let finish: SampledSequence["finish"] = "stop";
  let tokens: Uint8Array = none;
  let logprobs: Uint8Array | null = null;
  readMessage(reader, {
    1: (r) => {
      finish = r.int32() === 1 ? "length" : "stop";
    },
    2: (r) => {
      tokens = r.bytes();
    },
    3: (r) => {
      logprobs = r.bytes();
    },
  });
  return { finish, tokens: new Int32Array(copied(tokens, 4)), logprobs: logprobs && floats(logprobs) };
};

/** Reads a SampleResponse. */
export const readSample = (body: Uint8Array): Result.Result<SampleOutput, string> =>
  attemptRead(() => {
    const sequences: SampledSequence[] = [];
    let prompt: Float32Array | null = null;
    readFields(body, {
      1: (reader) => sequences.push(readSequence(reader)),
      2: (reader) => {
        prompt = floats(reader.bytes());
      },
    });
    return { sequences, promptLogprobs: prompt };
  });
