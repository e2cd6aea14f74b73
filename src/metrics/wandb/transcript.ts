/** An episode as one text for a table's cell. */
import type { EpisodeRecord, Message } from "../../domain/EpisodeRecord.ts";

/** Characters of a cell at most. */
export const LONGEST = 8_000;

const shown = ({ content, role }: Message): string => `[${role}]\n${content}`;

/** The end of an episode tells more than its middle: what is too long is cut there. */
const cut = (text: string): string => {
  if (text.length <= LONGEST) return text;
  const half = LONGEST / 2;
  return `${text.slice(0, half)}\n… ${text.length - LONGEST} characters left out …\n${text.slice(-half)}`;
};

const ending = ({ final }: EpisodeRecord): readonly string[] =>
  final === undefined ? [] : [`[state at the end]\n${final}`];

/** The messages of all its token sequences, in order, and the state it ended in. */
export const transcript = (sequences: readonly EpisodeRecord[]): string =>
  cut(sequences.flatMap((record) => [...record.messages.map(shown), ...ending(record)]).join("\n\n"));
