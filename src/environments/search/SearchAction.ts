/**
 * What a reply asks for: the raw text of an answer enters, one of four kinds leaves. Pure and total. The reading is RAGEN's: verbs in
 * lower case with the brackets around all the rest, anything else that says something is an answer without its form.
 */

export type SearchAction =
  | { readonly _tag: "Search"; readonly query: string }
  | { readonly _tag: "Finish"; readonly answer: string }
  /** Neither form: an answer is sought in the text. */
  | { readonly _tag: "Other"; readonly text: string }
  | { readonly _tag: "Empty" };

/** Between `verb[` and a last `]`. */
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
