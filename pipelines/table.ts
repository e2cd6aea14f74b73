/**
 * Plain tables for a terminal: columns as wide as their widest cell, with two spaces between. Where that is wider than the terminal, cells
 * are wrapped: the last column gets the width that is left, the others at most `widest`.
 */

export interface TableOptions {
  /** Columns of the terminal. */
  readonly width?: number;
  /** Greatest width of every column but the last. */
  readonly widest?: number;
}

/** Least width of the last column, however narrow the terminal. */
const leastLast = 24;

/**
 * The place at which to cut a word that is longer than a line: after a comma in the line's second half, otherwise at
 * its end.
 */
const cutOf = (word: string, width: number): number => {
  const comma = word.lastIndexOf(",", width - 1) + 1;
  return comma > width / 2 ? comma : width;
};

/** `text` in lines of at most `width` characters, cut between words, and within those that are longer than a line. */
export const wrapped = (text: string, width: number): readonly string[] => {
  if (text.length <= width) return [text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (joined.length <= width) {
      line = joined;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    while (line.length > width) {
      const cut = cutOf(line, width);
      lines.push(line.slice(0, cut));
      line = line.slice(cut);
    }
  }
  return [...lines, line];
};

/** `text` in lines that all begin with `indent`. */
export const indented = (text: string, indent: string, width: number): readonly string[] =>
  wrapped(text, width - indent.length).map((line) => indent + line);

export const table = (
  rows: ReadonlyArray<readonly string[]>,
  { widest = Number.POSITIVE_INFINITY, width = Number.POSITIVE_INFINITY }: TableOptions = {},
): readonly string[] => {
  const natural = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const others = natural.slice(0, -1).map((length) => Math.min(length, widest));
  const left = width - others.reduce((sum, length) => sum + length + 2, 0);
  const last = Math.max(leastLast, Math.min(natural.at(-1) ?? 0, left));
  const widthOf = (column: number) => others[column] ?? last;
  return rows.flatMap((row) => {
    const cells = row.map((cell, column) => wrapped(cell, widthOf(column)));
    const height = Math.max(...cells.map((lines) => lines.length));
    return Array.from({ length: height }, (_, at) =>
      cells
        .map((lines, column) => (lines[at] ?? "").padEnd(widthOf(column)))
        .join("  ")
        .trimEnd(),
    );
  });
};
