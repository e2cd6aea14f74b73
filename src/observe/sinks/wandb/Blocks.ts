/**
 * The framing of a `.wandb` file: a header of 7 bytes, then LevelDB's log format in blocks of 32 KiB counted from the start of the file,
 * with a plain CRC-32 of type and data. Invariant: a record's bytes depend only on its payload and the offset it is written at, so a
 * file may be cut behind any record and go on.
 */
import { crc32 } from "node:zlib";
import type { ByteSource } from "../../../support/files/JsonLines.ts";

/** `:W&B`, the magic number 0xBEE1 and version 0. */
export const HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0x00);
export const BLOCK_BYTES = 32 * 1024;
/** Checksum, length and type in front of each chunk. */
const CHUNK_HEADER = 7;
const chunk = { full: 1, first: 2, middle: 3, last: 4 } as const;

const typeOf = (first: boolean, last: boolean): number =>
  first ? (last ? chunk.full : chunk.first) : last ? chunk.last : chunk.middle;

/** The bytes of a record that is written at offset `at`, the padding of the block before it included. */
export const frameRecord = (payload: Uint8Array, at: number): Buffer => {
  const parts: Buffer[] = [];
  let offset = at;
  for (let done = 0, first = true; first || done < payload.length; ) {
    const left = BLOCK_BYTES - (offset % BLOCK_BYTES);
    if (left < CHUNK_HEADER) {
      parts.push(Buffer.alloc(left));
      offset += left;
      continue;
    }
    const length = Math.min(payload.length - done, left - CHUNK_HEADER);
    const data = payload.subarray(done, done + length);
    done += length;
    const type = typeOf(first, done === payload.length);
    const header = Buffer.alloc(CHUNK_HEADER);
    header.writeUInt32LE(crc32(data, crc32(Uint8Array.of(type))), 0);
    header.writeUInt16LE(length, 4);
    header.writeUInt8(type, 6);
    parts.push(header, Buffer.from(data.buffer, data.byteOffset, data.length));
    offset += CHUNK_HEADER + length;
    first = false;
  }
  return Buffer.concat(parts);
};

export interface FramedRecord {
  readonly payload: Buffer;
  /** Offset just behind the record. */
  readonly end: number;
}

const WINDOW_BYTES = 8 * BLOCK_BYTES;

/** Bytes of a file by offset, read a window at a time. */
class Window {
  readonly #source: ByteSource;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(source: ByteSource) {
    this.#source = source;
  }

  async at(offset: number, length: number): Promise<Buffer> {
    if (offset < this.#start || offset + length > this.#start + this.#bytes.length) {
      this.#start = offset;
      this.#bytes = await this.#source.read(offset, Math.min(WINDOW_BYTES, this.#source.size - offset));
    }
    return this.#bytes.subarray(offset - this.#start, offset - this.#start + length);
  }
}

/** The whole records from offset `from` on. Ends before the first that is torn or damaged: nothing behind it can be trusted. */
export async function* records(source: ByteSource, from: number = HEADER.length): AsyncGenerator<FramedRecord> {
  const window = new Window(source);
  let parts: Buffer[] = [];
  for (let at = from; ; ) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < CHUNK_HEADER) {
      at += left;
      continue;
    }
    if (at + CHUNK_HEADER > source.size) return;
    const header = await window.at(at, CHUNK_HEADER);
    const checksum = header.readUInt32LE(0);
    const length = header.readUInt16LE(4);
    const type = header.readUInt8(6);
    if (length > left - CHUNK_HEADER || at + CHUNK_HEADER + length > source.size) return;
    const data = Buffer.from(await window.at(at + CHUNK_HEADER, length));
    const begins = type === chunk.full || type === chunk.first;
    if (crc32(data, crc32(Uint8Array.of(type))) !== checksum || begins !== (parts.length === 0)) return;
    at += CHUNK_HEADER + length;
    parts.push(data);
    if (type === chunk.full || type === chunk.last) {
      yield { payload: Buffer.concat(parts), end: at };
      parts = [];
    }
  }
}
