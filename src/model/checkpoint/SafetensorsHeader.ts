/**
 * The header of a safetensors file: JSON with the format, shape and place of each tensor. It is read, checked and written here.
 * Invariant: the tensors of a valid header fill the file without gap or overlap.
 */
import { CheckpointError, checkpointError } from "./CheckpointError.ts";
import { bytesPerValue, type FloatFormat, floatFormats, isFloatFormat } from "./FloatFormat.ts";

/** Values in row-major order; `data.length` is the product of `shape`. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** A tensor as the header lists it; offsets are bytes from the end of the header. */
export interface TensorEntry {
  readonly name: string;
  readonly format: FloatFormat;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  readonly entries: readonly TensorEntry[];
  readonly metadata: ReadonlyMap<string, string>;
  /** Bytes before the first tensor. */
  readonly dataStart: number;
}

/** Bytes of the header's length, little-endian, at the start of the file. */
export const lengthBytes = 8;
/** The reference implementation's bound; a larger one means that the file is something else. */
export const maxHeaderBytes = 100_000_000;

/** Values of a tensor. */
export const valueCount = (shape: readonly number[]): number =>
  shape.reduce((product, dimension) => product * dimension, 1);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const parseEntry = (path: string, name: string, value: unknown): TensorEntry | CheckpointError => {
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
  const [begin, end, ...more]: readonly unknown[] = Array.isArray(offsets) ? offsets : [];
  if (!isCount(begin) || !isCount(end) || more.length > 0 || begin > end) {
    return checkpointError(path, "bad_offsets", `tensor "${name}" has data_offsets ${JSON.stringify(offsets)}`);
  }
  const needed = valueCount(shape) * bytesPerValue[dtype];
  if (end - begin !== needed) {
    return checkpointError(
      path,
      "bad_offsets",
      `tensor "${name}" of shape [${shape.join(", ")}] in ${dtype} needs ${needed} bytes, data_offsets give ${end - begin}`,
    );
  }
  return { name, format: dtype, shape, begin, end };
};

/** Returns why sorted entries do not fill the file exactly, or undefined. */
const layoutFault = (
  path: string,
  entries: readonly TensorEntry[],
  dataStart: number,
  dataBytes: number,
): CheckpointError | undefined => {
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
  return undefined;
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
  const entries: TensorEntry[] = [];
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
  return layoutFault(path, entries, dataStart, dataBytes) ?? { entries, metadata, dataStart };
};

/** The format all entries share, else F32. */
export const commonFormat = (entries: readonly TensorEntry[]): FloatFormat => {
  const formats = new Set(entries.map(({ format }) => format));
  const [only] = formats;
  return formats.size === 1 && only !== undefined ? only : "F32";
};

/** Header bytes, length prefix included, for tensors written in the order given. */
export const headerOf = (
  tensors: ReadonlyMap<string, Tensor>,
  format: FloatFormat,
  metadata: Readonly<Record<string, string>>,
): Uint8Array => {
  let position = 0;
  const entries: [string, unknown][] = [["__metadata__", { format: "pt", ...metadata }]];
  for (const [name, { shape }] of tensors) {
    const end = position + valueCount(shape) * bytesPerValue[format];
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
