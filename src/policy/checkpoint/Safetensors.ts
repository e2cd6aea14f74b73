/**
 * One-file safetensors: eight bytes of header length (little-endian), a JSON header padded with spaces to eight, then the tensors
 * end to end. Float32 arrays enter and leave; F16 and BF16 are converted on the way, a block at a time, so that a file larger than
 * memory's spare half is no problem. Invariant: a file that reads without an error was complete and had no gap or overlap.
 */

import { type FileHandle, open } from "node:fs/promises";
import { Effect } from "effect";
import { replaceFile } from "../../files/AtomicWrite.ts";
import { CheckpointError, checkpointError, fromUnknown, ofFile } from "./CheckpointError.ts";
import {
  bytesPerValue,
  decodeInto,
  encode,
  type FloatFormat,
  firstOverflow,
  floatFormats,
  isFloatFormat,
} from "./FloatFormat.ts";

/** Values in row-major order; `data.length` is the product of `shape`. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** A tensor as the header lists it; offsets are bytes from the end of the header. */
export interface Entry {
  readonly name: string;
  readonly format: FloatFormat;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  readonly entries: readonly Entry[];
  readonly metadata: ReadonlyMap<string, string>;
  /** Bytes before the first tensor. */
  readonly dataStart: number;
}

const lengthBytes = 8;
/** The reference implementation's bound; a larger one means that the file is something else. */
const longestHeader = 100_000_000;
const valuesPerBlock = 1 << 21;

const size = (shape: readonly number[]): number => shape.reduce((product, dimension) => product * dimension, 1);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const parseEntry = (path: string, name: string, value: unknown): Entry | CheckpointError => {
  if (!isRecord(value))
    return checkpointError(path, "bad_header", `the header's entry for tensor "${name}" is not an object`);
  const { dtype, shape, data_offsets: offsets } = value;
  if (!isFloatFormat(dtype)) {
    return checkpointError(
      path,
      "unknown_dtype",
      `tensor "${name}" has dtype ${JSON.stringify(dtype)}; supported are ${floatFormats.join(", ")}`,
    );
  }
  if (!Array.isArray(shape) || !shape.every(isCount)) {
    return checkpointError(
      path,
      "bad_header",
      `tensor "${name}" has shape ${JSON.stringify(shape)}, not a list of sizes`,
    );
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount) || offsets[0] > offsets[1]) {
    return checkpointError(path, "bad_offsets", `tensor "${name}" has data_offsets ${JSON.stringify(offsets)}`);
  }
  const [begin, end] = offsets;
  const needed = size(shape) * bytesPerValue[dtype];
  if (end - begin !== needed) {
    return checkpointError(
      path,
      "bad_offsets",
      `tensor "${name}" of shape [${shape.join(", ")}] in ${dtype} needs ${needed} bytes, data_offsets give ${end - begin}`,
    );
  }
  return { name, format: dtype, shape, begin, end };
};

/** The header's JSON text to its entries in file order, or what is wrong with it. `dataBytes` is what the file holds after it. */
export const parseHeader = (
  path: string,
  text: string,
  dataStart: number,
  dataBytes: number,
): Header | CheckpointError => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return checkpointError(path, "bad_header", "the header is not JSON; is this a safetensors file?");
  }
  if (!isRecord(json)) return checkpointError(path, "bad_header", "the header is not a JSON object");
  const entries: Entry[] = [];
  const metadata = new Map<string, string>();
  for (const [name, value] of Object.entries(json)) {
    if (name === "__metadata__") {
      for (const [key, text] of Object.entries(isRecord(value) ? value : {})) metadata.set(key, String(text));
      continue;
    }
    const entry = parseEntry(path, name, value);
    if (entry instanceof CheckpointError) return entry;
    entries.push(entry);
  }
  entries.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let position = 0;
  for (const { name, begin, end } of entries) {
    if (end > dataBytes) {
      return checkpointError(
        path,
        "truncated",
        `tensor "${name}" ends at byte ${dataStart + end}, the file at ${dataStart + dataBytes}; it was cut short`,
      );
    }
    if (begin !== position) {
      const fault =
        begin < position ? "overlaps the one before it" : `leaves a gap of ${begin - position} bytes before it`;
      return checkpointError(path, "bad_offsets", `tensor "${name}" ${fault}`);
    }
    position = end;
  }
  if (position !== dataBytes) {
    return checkpointError(path, "bad_offsets", `${dataBytes - position} bytes after the last tensor belong to none`);
  }
  return { entries, metadata, dataStart };
};

const readFully = async (file: FileHandle, target: Uint8Array, position: number, path: string): Promise<void> => {
  let done = 0;
  while (done < target.byteLength) {
    const { bytesRead } = await file.read(target, done, target.byteLength - done, position + done);
    if (bytesRead === 0)
      throw checkpointError(path, "truncated", `the file ended at byte ${position + done} while being read`);
    done += bytesRead;
  }
};

const readHeaderFrom = async (file: FileHandle, path: string): Promise<Header> => {
  const { size: fileBytes } = await file.stat();
  if (fileBytes < lengthBytes) {
    throw checkpointError(path, "truncated", `${fileBytes} bytes are too few for a safetensors file`);
  }
  const prefix = new Uint8Array(lengthBytes);
  await readFully(file, prefix, 0, path);
  const headerBytes = Number(new DataView(prefix.buffer).getBigUint64(0, true));
  if (headerBytes > longestHeader) {
    throw checkpointError(path, "bad_header", `a header of ${headerBytes} bytes; is this a safetensors file?`);
  }
  if (lengthBytes + headerBytes > fileBytes) {
    throw checkpointError(
      path,
      "truncated",
      `the header needs ${headerBytes} bytes, the file has ${fileBytes - lengthBytes}`,
    );
  }
  const text = new Uint8Array(headerBytes);
  await readFully(file, text, lengthBytes, path);
  const dataStart = lengthBytes + headerBytes;
  const header = parseHeader(path, new TextDecoder().decode(text), dataStart, fileBytes - dataStart);
  if (header instanceof CheckpointError) throw header;
  return header;
};

const withFile = <A>(path: string, use: (file: FileHandle) => Promise<A>): Effect.Effect<A, CheckpointError> =>
  Effect.tryPromise({
    try: async () => {
      const file = await open(path, "r");
      try {
        return await use(file);
      } finally {
        await file.close();
      }
    },
    catch: (cause) => fromUnknown(path, cause),
  });

/** The header alone: names, shapes and formats without the values. Fails with `CheckpointError`. */
export const readHeader = (path: string): Effect.Effect<Header, CheckpointError> =>
  withFile(path, (file) => readHeaderFrom(file, path));

/**
 * Reads the file. `place` looks at the header and says where each tensor's values go (an array of as many values, perhaps a view
 * into a larger one; `undefined` skips the tensor); it may refuse the file by returning a `CheckpointError` before any value is read.
 */
export const readInto = (
  path: string,
  place: (header: Header) => ((entry: Entry) => Float32Array | undefined) | CheckpointError,
): Effect.Effect<Header, CheckpointError> =>
  withFile(path, async (file) => {
    const header = await readHeaderFrom(file, path);
    const placed = place(header);
    if (placed instanceof CheckpointError) throw placed;
    const block = new Uint8Array(valuesPerBlock * 2);
    for (const entry of header.entries) {
      const values = placed(entry);
      if (values === undefined) continue;
      const start = header.dataStart + entry.begin;
      if (entry.format === "F32") {
        await readFully(file, new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start, path);
        continue;
      }
      for (let at = 0; at < values.length; at += valuesPerBlock) {
        const bytes = block.subarray(0, Math.min(valuesPerBlock, values.length - at) * 2);
        await readFully(file, bytes, start + at * 2, path);
        decodeInto(entry.format, bytes, values, at);
      }
    }
    return header;
  });

export interface TensorFile {
  /** In file order. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly metadata: ReadonlyMap<string, string>;
  /** The one format of all tensors; F32 where they differ, and of an empty file. */
  readonly format: FloatFormat;
}

/** The format all entries share, else F32. */
export const commonFormat = (entries: readonly Entry[]): FloatFormat => {
  const formats = new Set(entries.map(({ format }) => format));
  const [only] = formats;
  return formats.size === 1 && only !== undefined ? only : "F32";
};

/** Reads every tensor into an array of its own. Fails with `CheckpointError`. */
export const read = (path: string): Effect.Effect<TensorFile, CheckpointError> =>
  Effect.suspend(() => {
    const tensors = new Map<string, Tensor>();
    const place = ({ name, shape }: Entry): Float32Array => {
      const data = new Float32Array(size(shape));
      tensors.set(name, { shape, data });
      return data;
    };
    return Effect.map(
      readInto(path, () => place),
      ({ entries, metadata }) => ({ tensors, metadata, format: commonFormat(entries) }),
    );
  });

export interface WriteOptions {
  readonly format?: FloatFormat;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Header bytes, length prefix included, for tensors written in the order given. */
const headerOf = (
  tensors: ReadonlyMap<string, Tensor>,
  format: FloatFormat,
  metadata: Readonly<Record<string, string>>,
): Uint8Array => {
  let position = 0;
  const entries: [string, unknown][] = [["__metadata__", { format: "pt", ...metadata }]];
  for (const [name, { shape }] of tensors) {
    const end = position + size(shape) * bytesPerValue[format];
    entries.push([name, { dtype: format, shape, data_offsets: [position, end] }]);
    position = end;
  }
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const padded = Math.ceil(json.byteLength / 8) * 8;
  const header = new Uint8Array(lengthBytes + padded).fill(0x20, lengthBytes);
  new DataView(header.buffer).setBigUint64(0, BigInt(padded), true);
  header.set(json, lengthBytes);
  return header;
};

/** Writes `tensors` in their order, beside and renamed. Fails with `CheckpointError`: F16 refuses finite values beyond 65504. */
export const write = (
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  { format = "F32", metadata = {} }: WriteOptions = {},
): Effect.Effect<void, CheckpointError> =>
  replaceFile(path, async (file) => {
    for (const [name, { shape, data }] of tensors) {
      if (data.length !== size(shape)) {
        throw checkpointError(
          path,
          "wrong_shape",
          `tensor "${name}" of shape [${shape.join(", ")}] was given ${data.length} values`,
        );
      }
    }
    await file.writeFile(headerOf(tensors, format, metadata));
    for (const [name, { data }] of tensors) {
      const bad = firstOverflow(format, data);
      if (bad >= 0)
        throw checkpointError(path, "overflow", `tensor "${name}" holds ${data[bad]}, beyond the range of ${format}`);
      for (let at = 0; at < data.length; at += valuesPerBlock) {
        await file.writeFile(encode(format, data.subarray(at, at + valuesPerBlock)));
      }
    }
  }).pipe(Effect.mapError(ofFile));
