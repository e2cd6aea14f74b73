/**
 * A reply as bytes: a length, a checksum, and behind them the stream key, the checksum of its request and the arrays of the reply, all little
 * endian. Invariant: bytes that were cut off or changed are no record, and what lies before them can be read.
 */
import { crc32 } from "node:zlib";
import type { CacheFill, Sampled } from "../../../domain/Episode.ts";
import { purposes, type StreamKey } from "../../../domain/Random.ts";

/** Bytes of the length and the checksum. */
const HEAD_BYTES = 8;
/** Bytes before the counters: the seed, the request's checksum, the tokens, the purpose, the counters' number, the finish, 1 with fills. */
const FIXED_BYTES = 20;
/** Bytes of a token in the four arrays. */
const TOKEN_BYTES = 16;
/** Bytes of a cache fill: its form, its first position, the one after its last, its version. */
const FILL_BYTES = 16;

export interface ReplyRecord {
  readonly key: StreamKey;
  /** Checksum of the request that it replies to. */
  readonly request: number;
  readonly sampled: Sampled;
}

const bytesOf = ({ buffer, byteLength, byteOffset }: Int32Array | Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export const encode = ({ key, request, sampled }: ReplyRecord): Buffer => {
  const { entropies, fills = [], finish, ids, mu, versions } = sampled;
  const size = FIXED_BYTES + 4 * key.counters.length + TOKEN_BYTES * ids.length + FILL_BYTES * fills.length;
  const bytes = Buffer.alloc(HEAD_BYTES + size);
  const body = bytes.subarray(HEAD_BYTES);
  body.writeDoubleLE(key.seed, 0);
  body.writeUInt32LE(request, 8);
  body.writeUInt32LE(ids.length, 12);
  body.writeUInt8(purposes.indexOf(key.purpose), 16);
  body.writeUInt8(key.counters.length, 17);
  body.writeUInt8(finish === "length" ? 1 : 0, 18);
  body.writeUInt8(sampled.fills === undefined ? 0 : 1, 19);
  let at = FIXED_BYTES;
  for (const counter of key.counters) at = body.writeUInt32LE(counter, at);
  for (const array of [ids, mu, versions, entropies]) {
    body.set(bytesOf(array), at);
    at += array.byteLength;
  }
  for (const { form, from, to, version } of fills)
    for (const number of [form === "chunk" ? 0 : 1, from, to, version]) at = body.writeUInt32LE(number, at);
  bytes.writeUInt32LE(size, 0);
  bytes.writeUInt32LE(crc32(body), 4);
  return bytes;
};

const decodeFills = (bytes: Buffer): readonly CacheFill[] =>
  Array.from({ length: bytes.length / FILL_BYTES }, (_, i) => {
    const [form, from, to, version] = [0, 4, 8, 12].map((at) => bytes.readUInt32LE(i * FILL_BYTES + at));
    return { form: form === 0 ? "chunk" : "step", from: from!, to: to!, version: version! };
  });

const decodeBody = (body: Buffer): ReplyRecord | undefined => {
  if (body.length < FIXED_BYTES) return undefined;
  const tokens = body.readUInt32LE(12);
  const purpose = purposes[body.readUInt8(16)];
  const start = FIXED_BYTES + 4 * body.readUInt8(17);
  const end = start + TOKEN_BYTES * tokens;
  const hasFills = body.readUInt8(19) === 1;
  const isWhole = hasFills ? body.length >= end && (body.length - end) % FILL_BYTES === 0 : body.length === end;
  if (purpose === undefined || !isWhole) return undefined;
  const counters = Array.from({ length: body.readUInt8(17) }, (_, i) => body.readUInt32LE(FIXED_BYTES + 4 * i));
  // The copy is aligned, as arrays of numbers must be.
  const { buffer } = Uint8Array.from(body.subarray(start, end));
  return {
    key: { seed: body.readDoubleLE(0), purpose, counters },
    request: body.readUInt32LE(8),
    sampled: {
      ids: new Int32Array(buffer, 0, tokens),
      mu: new Float32Array(buffer, 4 * tokens, tokens),
      versions: new Int32Array(buffer, 8 * tokens, tokens),
      entropies: new Float32Array(buffer, 12 * tokens, tokens),
      finish: body.readUInt8(18) === 1 ? "length" : "stop",
      ...(hasFills ? { fills: decodeFills(body.subarray(end)) } : {}),
    },
  };
};

/** The records at the start of `bytes`, and the bytes that they take. What follows is no record. */
export const decodeAll = (bytes: Buffer): { readonly records: readonly ReplyRecord[]; readonly size: number } => {
  const records: ReplyRecord[] = [];
  let size = 0;
  while (size + HEAD_BYTES <= bytes.length) {
    const end = size + HEAD_BYTES + bytes.readUInt32LE(size);
    if (end > bytes.length) break;
    const body = bytes.subarray(size + HEAD_BYTES, end);
    const record = crc32(body) === bytes.readUInt32LE(size + 4) ? decodeBody(body) : undefined;
    if (record === undefined) break;
    records.push(record);
    size = end;
  }
  return { records, size };
};
