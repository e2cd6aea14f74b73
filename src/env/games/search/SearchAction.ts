/**
 * Parses the text of an answer as one of four kinds of action, by a pure and total function. The grammar is RAGEN's: a verb in lower case with
 * brackets around all the rest; any other text that is not blank is an answer without the form.
 */

export type SearchAction =
  | { readonly _tag: "Search"; readonly query: string }
  | { readonly _tag: "Finish"; readonly answer: string }
  /** The text has neither form, and is searched for an answer. */
  | { readonly _tag: "Other"; readonly text: string }
  | { readonly _tag: "Empty" };

/** The text between `verb[` and a last `]`; null if the text has another form. */
const inside = (verb: string, text: string): string | null =>
  text.startsWith(`${verb}[`) && text.endsWith("]") ? text.slice(verb.length + 1, -1) : null;

export const searchAction = (written: string): SearchAction => {
  const text = written.trim();
  if (text === "") return { _tag: "Empty" };
  const query = inside("search", text);
  if (query !== null) return { _tag: "Search", query };
  const answer = inside("finish", text);
  return answer === null ? { _tag: "Other", text } : { _tag: "Finish", answer };
};
