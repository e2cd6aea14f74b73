/** An alarm as lines of text, for consoles, logs and alerts. Invariant: no line holds a control character, whatever the reply says. */
import type { Alarm, Example } from "./Alarms.ts";

const LONGEST_REPLY = 200;
const MOST_ACTIONS = 12;

/** On one line, and short: a reply may be anything, escape sequences included. */
const quoted = (reply: string): string => {
  const plain = reply.replace(/[\s\p{C}]+/gu, " ").trim();
  return plain.length > LONGEST_REPLY ? `“${plain.slice(0, LONGEST_REPLY)} …”` : `“${plain}”`;
};

const listed = (names: readonly string[]): string => {
  const more = names.length - MOST_ACTIONS;
  return (
    names
      .slice(0, MOST_ACTIONS)
      .map((name) => name.replace(/[\s\p{C}]+/gu, " "))
      .join(", ") + (more > 0 ? ` and ${more} more` : "")
  );
};

const exampleLines = ({ legal, reply, tag }: Example): readonly string[] => [
  `A reply (${tag}): ${quoted(reply)}`,
  ...(legal === null || legal.length === 0 ? [] : [`Legal actions there: ${listed(legal)}.`]),
];

/** The alarm's first line: `no reply can be read (step 3)`. */
export const titleLine = ({ step, title }: Pick<Alarm, "step" | "title">): string => `${title} (step ${step})`;

/** The sentences behind the head, one a line. */
export const sentencesOf = ({ advice, cause, example, measured }: Alarm): readonly string[] => [
  measured,
  ...(example === undefined ? [] : exampleLines(example)),
  cause,
  advice,
];

/** All of it: the head, then the sentences, indented. */
export const textOf = (alarm: Alarm): string => [`warning: ${titleLine(alarm)}`, ...sentencesOf(alarm)].join("\n  ");
