/**
 * Finds the code in an answer: the last fenced block if there is one, else the whole answer. The function is pure and total, and gives an
 * empty text if there is no code. Lines, commas, `||` and indentation stay as they are.
 */

const fence = /^[ \t]*(`{3,}|~{3,})[^\n]*$/gm;

/** Leading and trailing blank lines go; the first line keeps its indentation. */
const trimBlankLines = (text: string): string => text.replace(/^(?:[ \t]*\n)+/, "").trimEnd();

export const submittedCode = (answer: string): string => {
  const text = answer.replaceAll("\r\n", "\n");
  const marks = [...text.matchAll(fence)];
  // Fences come in pairs; a block that is never closed goes to the end, as in an answer that was cut.
  const open = marks[marks.length - (marks.length % 2 === 0 ? 2 : 1)];
  if (open === undefined) return trimBlankLines(text);
  const close = marks[marks.indexOf(open) + 1];
  return trimBlankLines(text.slice(open.index + open[0].length, close?.index));
};
