/**
 * The result of a search, by either retriever: documents, best first, or a failure in words that the model may read. The texts of results
 * are cut to limits in characters. Invariant: no cut splits a character.
 */
import { Schema } from "effect";

export interface RetrievedDocument {
  readonly id: string;
  readonly content: string;
  readonly score: number;
}

/** A failed search. The model reads its message, and the run counts it. */
export class RetrievalFailure extends Schema.TaggedError<RetrievalFailure>()("RetrievalFailure", {
  reason: Schema.Literals(["unreachable", "timeout", "refused", "failed", "nonsense"]),
  message: Schema.String,
}) {}

/** The first `limit` characters and three dots, or the whole text if it is no longer. Characters are code points. */
export const truncate = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  let end = 0;
  let counted = 0;
  while (counted < limit && end < text.length) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
    counted++;
  }
  return end < text.length ? `${text.slice(0, end)}...` : text;
};

/** Writes all documents in one text of at most `limit` characters and the three dots. */
export const retrievedText = (documents: readonly RetrievedDocument[], limit: number): string => {
  if (documents.length === 0) return "No document matches the query.";
  const parts = documents.map(
    ({ content, id, score }, index) => `Document ${index + 1} (ID: ${id}, score: ${score.toFixed(3)})\n${content}`,
  );
  return truncate(parts.join("\n\n"), limit);
};
