/** The bytes of a vocabulary as one table, which can be sent to a thread. */
import type { BytesOf } from "../model/tokenizer/ByteDecoder.ts";

/** Bytes of every id, end to end: id i has bytes[offsets[i] .. offsets[i + 1]). */
export interface TokenBytes {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
}

export const tokenBytes = (vocabSize: number, bytesOf: BytesOf): TokenBytes => {
  const spellings = Array.from({ length: vocabSize }, (_, id) => bytesOf(id));
  const offsets = new Int32Array(vocabSize + 1);
  let end = 0;
  for (const [id, { length }] of spellings.entries()) {
    end += length;
    offsets[id + 1] = end;
  }
  const bytes = new Uint8Array(end);
  for (const [id, word] of spellings.entries()) bytes.set(word, offsets[id]);
  return { bytes, offsets };
};

/** Returns the bytes of an id from the table. An id outside the table has no bytes. */
export const byteLookup = ({ bytes, offsets }: TokenBytes): BytesOf => {
  const none = new Uint8Array();
  return (id) => (id >= 0 && id < offsets.length - 1 ? bytes.subarray(offsets[id], offsets[id + 1]) : none);
};
