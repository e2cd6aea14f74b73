/**
 * One-file safetensors: eight bytes of header length (little-endian), a JSON header padded with spaces to eight, then the tensors
 * end to end. Float32 arrays are read and written; F16 and BF16 are converted on the way, a block at a time, so that the file is never
 * in memory twice. Invariants: a file that reads without an error was complete and had no gap or overlap; no value that is read or written is
 * NaN or infinite.
 */

import { type FileHandle, open } from "node:fs/promises";
import { Effect } from "effect";
import { replaceFile } from "../../support/files/AtomicWrite.ts";
import { firstNotFinite } from "../graphs/finite.ts";
import { CheckpointError, checkpointError, fromFileError, fromUnknown } from "./CheckpointError.ts";
import { decodeInto, encode, type FloatFormat, firstOverflow } from "./FloatFormat.ts";
import {
  commonFormat,
  type Header,
  headerOf,
  lengthBytes,
  maxHeaderBytes,
  parseHeader,
  type Tensor,
  type TensorEntry,
  valueCount,
} from "./SafetensorsHeader.ts";

export type { Tensor } from "./SafetensorsHeader.ts";

const valuesPerBlock = 1 << 21;

const checkFinite = (path: string, name: string, values: Float32Array): void => {
  const bad = firstNotFinite(values);
  if (bad === -1) return;
  const detail = `tensor "${name}" holds ${values[bad]} at index ${bad}; every value must be a finite number`;
  throw checkpointError(path, "not_finite", detail);
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
  if (headerBytes > maxHeaderBytes) {
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
  place: (header: Header) => ((entry: TensorEntry) => Float32Array | undefined) | CheckpointError,
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
      } else {
        for (let at = 0; at < values.length; at += valuesPerBlock) {
          const bytes = block.subarray(0, Math.min(valuesPerBlock, values.length - at) * 2);
          await readFully(file, bytes, start + at * 2, path);
          decodeInto(entry.format, bytes, values, at);
        }
      }
      checkFinite(path, entry.name, values);
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

/** Reads every tensor into an array of its own. Fails with `CheckpointError`. */
export const read = (path: string): Effect.Effect<TensorFile, CheckpointError> =>
  Effect.suspend(() => {
    const tensors = new Map<string, Tensor>();
    const place = ({ name, shape }: TensorEntry): Float32Array => {
      const data = new Float32Array(valueCount(shape));
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

/** Writes `tensors` in their order, under another name first and renamed. Fails with `CheckpointError`: on NaN and infinities, F16 also on values beyond 65504. */
export const write = (
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  { format = "F32", metadata = {} }: WriteOptions = {},
): Effect.Effect<void, CheckpointError> =>
  replaceFile(path, async (file) => {
    for (const [name, { shape, data }] of tensors) {
      if (data.length !== valueCount(shape)) {
        throw checkpointError(
          path,
          "wrong_shape",
          `tensor "${name}" of shape [${shape.join(", ")}] was given ${data.length} values`,
        );
      }
    }
    await file.writeFile(headerOf(tensors, format, metadata));
    for (const [name, { data }] of tensors) {
      checkFinite(path, name, data);
      const bad = firstOverflow(format, data);
      if (bad >= 0)
        throw checkpointError(path, "overflow", `tensor "${name}" holds ${data[bad]}, beyond the range of ${format}`);
      for (let at = 0; at < data.length; at += valuesPerBlock) {
        await file.writeFile(encode(format, data.subarray(at, at + valuesPerBlock)));
      }
    }
  }).pipe(Effect.mapError(fromFileError));
