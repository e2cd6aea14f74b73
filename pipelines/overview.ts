/**
 * The list of all commands, as lines of text. Invariant: this module imports text alone, so that the list is there before anything that runs is
 * loaded.
 */
import { infos } from "./commands/all.ts";
import { indented, table, wrapped } from "./table.ts";

/** Least columns for the explanations of a table; where they have fewer, each is written below what it explains. */
export const leastMeaning = 40;

/** Words and their explanations: beside each other where the terminal is wide enough. */
export const explanations = (
  rows: readonly (readonly [words: string, meaning: string])[],
  width: number,
): readonly string[] => {
  const widest = Math.max(...rows.map(([words]) => words.length));
  if (widest + 2 + leastMeaning <= width) return table(rows, { width });
  return rows.flatMap(([words, meaning]) => [
    ...indented(words.trimStart(), "  ", width),
    ...indented(meaning, "      ", width),
  ]);
};

/** The lines that `millrace help` prints. */
export const overview = (width: number): readonly string[] => [
  "Usage: millrace COMMAND ...",
  "",
  ...explanations(
    [...infos.values()].map(({ meaning, usage }) => [`  ${usage}`, meaning]),
    width,
  ),
  "",
  ...wrapped("Overrides are key.sub=value with YAML values; RAGEN's key paths are accepted.", width),
  ...wrapped("`millrace help COMMAND` explains a command, `millrace help config` every key of a run file.", width),
  ...wrapped("`millrace --completions bash` prints a completion script; zsh and fish have theirs.", width),
];
