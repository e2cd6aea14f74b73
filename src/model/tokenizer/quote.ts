/** Texts as messages show them. */
const longest = 80;

/** The text in quotes, its end left out where it is long. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > longest ? `${text.slice(0, longest)}…` : text);
