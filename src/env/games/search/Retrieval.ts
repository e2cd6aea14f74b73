/**
 * The result of a search, by either retriever: documents, best first, or a failure in words that the model may read. Also their text, cut
 * to limits in characters. Invariant: no cut splits a character.
 */
import { Schema } from "effect";

export interface Retrieved {
  readonly id: string;
  readonly content: string;
  readonly score: number;
}

/** A failed search: an observation for the model, a count for the run. */
export class RetrievalFailure extends Schema.TaggedError<RetrievalFailure>()("RetrievalFailure", {
  reason: Schema.Literals(["unreachable", "timeout", "refused", "failed", "nonsense"]),
  message: Schema.String,
}) {}

/** The first `limit` characters and three dots, or the whole text where it is no longer. Characters are code points. */
export const cut = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  let end = 0;
  let counted = 0;
  while (counted < limit && end < text.length) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
    counted++;
  }
  return end < text.length ? `${text.slice(0, end)}...` : text;
};

/** All documents in one text of at most `limit` characters and the three dots. */
export const retrievedText = (documents: readonly Retrieved[], limit: number): string => {
  if (documents.length === 0) return "No document matches the query.";
  const parts = documents.map(
    ({ content, id, score }, index) => `Document ${index + 1} (ID: ${id}, score: ${score.toFixed(3)})\n${content}`,
  );
  return cut(parts.join("\n\n"), limit);
};
