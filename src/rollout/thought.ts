/**
 * Finds the sampled ids of a thought by the range of its text. Pure. Invariants: every id of the span spells text of the thought alone; an
 * id that also spells part of a tag is left out.
 */
import type { Span } from "../domain/Episode.ts";

/**
 * The ids whose text lies within `text`, a range of the text that `pieces` (one of each id) join to; undefined where there are none. A
 * character that several ids spell is the last one's piece: the ids before it count as that one does.
 */
export const idsWithin = (pieces: readonly string[], [from, to]: Span): Span | undefined => {
  let first: number | undefined;
  let end = 0;
  let at = 0;
  /** The first id of the character under way. */
  let begun = 0;
  for (const [index, { length }] of pieces.entries()) {
    if (length === 0) continue;
    if (at >= to) break;
    if (at >= from && at + length <= to) {
      first ??= begun;
      end = index + 1;
    }
    at += length;
    begun = index + 1;
  }
  return first === undefined ? undefined : [first, end];
};
