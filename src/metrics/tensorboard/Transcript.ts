/** An episode as markdown for people: its figures, then what was shown and answered and the state it ended in, in fences that its text cannot close. Pure. */
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";

/** Characters of a transcript; the rest is in trajectories.jsonl. */
export const LONGEST = 32_768;

/** A fence longer than any run of backticks in the text. */
const fenced = (text: string): string => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
};

const figures = (record: EpisodeRecord): string => {
  const { group, member, outcome, reward, score, seed, success, tag, verdict } = record;
  const ended = outcome._tag === "Done" ? "done" : `${outcome._tag.toLowerCase()}: ${outcome.reason}`;
  const parts = [
    `**${tag}** seed ${seed}, group ${group}, member ${member}`,
    success ? "success" : "no success",
    `reward ${reward}`,
    ended,
    ...(verdict === undefined ? [] : [`verdict ${verdict}`]),
    ...(score === undefined ? [] : [`score ${score}`]),
  ];
  return parts.join(" · ");
};

interface Part {
  readonly title: string;
  readonly text: string;
}

const partsOf = ({ final, messages }: EpisodeRecord): readonly Part[] => [
  ...messages.map(({ content, role }): Part => ({ title: role, text: content })),
  ...(final === undefined ? [] : [{ title: "state at the end", text: final }]),
];

const written = ({ text, title }: Part): string => `**${title}**\n\n${fenced(text)}`;

export const transcript = (record: EpisodeRecord): string => {
  const parts = [figures(record)];
  let left = LONGEST;
  for (const part of partsOf(record)) {
    const cut = part.text.length > left ? { ...part, text: part.text.slice(0, left) } : part;
    parts.push(written(cut));
    left -= cut.text.length;
    if (left <= 0) {
      parts.push("*cut here*");
      break;
    }
  }
  return parts.join("\n\n");
};
