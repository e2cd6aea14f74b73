/**
 * A GGUF file: its metadata by key and its tensors by name. `@huggingface/gguf` reads the header.
 * Invariant: an open file holds all bytes of its tensors, each of a readable type, and no memory is allocated for impossible sizes.
 */
import { type FileHandle, open } from "node:fs/promises";
import { GGMLQuantizationType, type GGUFTensorInfo, gguf } from "@huggingface/gguf";
import { checkpointError } from "../CheckpointError.ts";
import { type TensorType, tensorType, typeNames } from "./dequantise.ts";

interface TensorPlace {
  readonly shape: readonly number[];
  readonly type: TensorType;
  /** Byte of the file at which the tensor begins. */
  readonly begin: number;
  readonly bytes: number;
}

const product = (shape: readonly number[]): number => shape.reduce((total, dimension) => total * dimension, 1);

export class GgufFile implements AsyncDisposable {
  readonly #path: string;
  readonly #metadata: Readonly<Record<string, unknown>>;
  readonly #places: ReadonlyMap<string, TensorPlace>;
  readonly #file: FileHandle;

  private constructor(
    path: string,
    metadata: Readonly<Record<string, unknown>>,
    places: ReadonlyMap<string, TensorPlace>,
    file: FileHandle,
  ) {
    this.#path = path;
    this.#metadata = metadata;
    this.#places = places;
    this.#file = file;
  }

  /** Throws CheckpointError for what is no GGUF, is cut short, or holds a tensor of another type. */
  static async open(path: string): Promise<GgufFile> {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const { littleEndian, metadata, tensorDataOffset, tensorInfoByteRange, tensorInfos } = await headerOf(path);
      // The reader takes what lies behind the file's end for zeros.
      if (tensorInfoByteRange[1] > size) throw checkpointError(path, "truncated", "it ends within its header");
      if (!littleEndian) throw checkpointError(path, "unsupported", "its numbers are big-endian; supported are little");
      const places = tensorInfos.map(
        (info) => [info.name, placeOf(path, info, Number(tensorDataOffset), size)] as const,
      );
      return new GgufFile(path, { ...metadata }, new Map(places), file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close();
  }

  get names(): readonly string[] {
    return [...this.#places.keys()];
  }

  has(key: string): boolean {
    return this.#metadata[key] !== undefined;
  }

  number(key: string): number {
    const value = this.#metadata[key];
    if (typeof value === "number" || typeof value === "bigint") return Number(value);
    throw this.#wrong(key, "a number");
  }

  text(key: string): string {
    const value = this.#metadata[key];
    if (typeof value === "string") return value;
    throw this.#wrong(key, "a text");
  }

  texts(key: string): readonly string[] {
    const value = this.#metadata[key];
    if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
    throw this.#wrong(key, "a list of texts");
  }

  numbers(key: string): readonly number[] {
    const value = this.#metadata[key];
    if (Array.isArray(value) && value.every((each) => typeof each === "number")) return value;
    throw this.#wrong(key, "a list of numbers");
  }

  /** The shape in rows and columns; GGUF itself lists columns first. Undefined where there is no such tensor. */
  shapeOf(name: string): readonly number[] | undefined {
    return this.#places.get(name)?.shape;
  }

  /** Reads a tensor into `values`, which has its size. */
  async readInto(name: string, values: Float32Array): Promise<void> {
    const place = this.#places.get(name);
    if (place === undefined) throw checkpointError(this.#path, "missing_tensor", `it lacks "${name}"`);
    const bytes = new Uint8Array(place.bytes);
    const { bytesRead } = await this.#file.read(bytes, 0, place.bytes, place.begin);
    if (bytesRead < place.bytes) throw checkpointError(this.#path, "truncated", `it ended within tensor "${name}"`);
    place.type.decode(bytes, values);
  }

  #wrong(key: string, expected: string) {
    const value = JSON.stringify(this.#metadata[key], (_, each) => (typeof each === "bigint" ? Number(each) : each));
    return checkpointError(this.#path, "bad_config", `${key} is ${value?.slice(0, 60) ?? "absent"}, not ${expected}`);
  }
}

const headerOf = async (path: string) => {
  try {
    return await gguf(path, { allowLocalFile: true });
  } catch (cause) {
    // The reader overruns its buffer if the file ends within its header.
    if (cause instanceof RangeError) throw checkpointError(path, "truncated", "it ends within its header");
    throw checkpointError(path, "bad_header", cause instanceof Error ? cause.message : String(cause));
  }
};

const placeOf = (
  path: string,
  { dtype, name, offset, shape }: GGUFTensorInfo,
  dataStart: number,
  size: number,
): TensorPlace => {
  const type = tensorType(dtype);
  if (type === undefined) {
    const named = GGMLQuantizationType[dtype] ?? `number ${dtype}`;
    const supported = `supported are ${typeNames.join(", ")}`;
    throw checkpointError(path, "unsupported", `tensor "${name}" is of type ${named}; ${supported}`);
  }
  const dimensions = shape.map(Number);
  const [columns = 1] = dimensions;
  const blocks = product(dimensions) / type.blockValues;
  if (columns % type.blockValues !== 0 || !Number.isSafeInteger(blocks)) {
    const detail = `tensor "${name}" of shape [${dimensions.join(", ")}] does not fall into blocks of ${type.blockValues} values`;
    throw checkpointError(path, "wrong_shape", detail);
  }
  const [begin, bytes] = [dataStart + Number(offset), blocks * type.blockBytes];
  if (!(begin + bytes <= size)) {
    throw checkpointError(path, "truncated", `tensor "${name}" ends at byte ${begin + bytes}, the file at ${size}`);
  }
  return { shape: dimensions.toReversed(), type, begin, bytes };
};
