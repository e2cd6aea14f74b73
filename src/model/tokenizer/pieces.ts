/** The text of each id of a sequence. Invariant: joined, the pieces are the UTF-8 reading of the ids' bytes, as `decode` gives it. */
import type { BytesOf } from "./ByteDecoder.ts";

/** A character that several ids spell is the last one's piece; the ids before it have an empty one. */
export const piecesOf = (bytesOf: BytesOf, ids: Iterable<number>): readonly string[] => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const pieces = Array.from(ids, (id) => decoder.decode(bytesOf(id), { stream: true }));
  const rest = decoder.decode();
  const last = pieces.length - 1;
  return last < 0 ? [] : pieces.with(last, `${pieces[last]}${rest}`);
};
