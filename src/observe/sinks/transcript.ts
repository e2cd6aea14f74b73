/** An episode as one text for people: prompts and replies, plain or as markdown with its figures. Pure. */
import type { EpisodeRecord } from "../../domain/EpisodeRecord.ts";

/** Characters of a plain transcript at most. */
export const LONGEST_PLAIN = 8_000;
/** Characters of a markdown transcript's messages at most; the rest is in trajectories.jsonl. */
export const LONGEST_MARKDOWN = 32_768;

/** The end of the episode: `done`, or the kind of ending and its reason. */
export const endingText = ({ outcome }: EpisodeRecord): string =>
  outcome._tag === "Done" ? "done" : `${outcome._tag.toLowerCase()}: ${outcome.reason}`;

/** The end of an episode is more telling than its middle, so a long text is cut there. */
const withoutMiddle = (text: string): string => {
  if (text.length <= LONGEST_PLAIN) return text;
  const half = LONGEST_PLAIN / 2;
  return `${text.slice(0, half)}\n… ${text.length - LONGEST_PLAIN} characters left out …\n${text.slice(-half)}`;
};

interface Part {
  readonly title: string;
  readonly text: string;
}

/** The messages of a token sequence, and the state that the episode ended in. */
const partsOf = ({ final, messages }: EpisodeRecord): readonly Part[] => [
  ...messages.map(({ content, role }): Part => ({ title: role, text: content })),
  ...(final === undefined ? [] : [{ title: "state at the end", text: final }]),
];

/** The parts of all token sequences of an episode, in order. */
export const plainTranscript = (sequences: readonly EpisodeRecord[]): string =>
  withoutMiddle(
    sequences
      .flatMap(partsOf)
      .map(({ text, title }) => `[${title}]\n${text}`)
      .join("\n\n"),
  );

/** In a fence longer than any run of backticks in the text, which so cannot close it. */
const fenced = (text: string): string => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
};

const figures = (record: EpisodeRecord): string => {
  const { group, member, reward, score, seed, success, tag, verdict } = record;
  const parts = [
    `**${tag}** seed ${seed}, group ${group}, member ${member}`,
    success ? "success" : "no success",
    `reward ${reward}`,
    endingText(record),
    ...(verdict === undefined ? [] : [`verdict ${verdict}`]),
    ...(score === undefined ? [] : [`score ${score}`]),
  ];
  return parts.join(" · ");
};

const written = ({ text, title }: Part): string => `**${title}**\n\n${fenced(text)}`;

/** Its figures, then the parts of the token sequence. */
export const markdownTranscript = (record: EpisodeRecord): string => {
  const parts = [figures(record)];
  let left = LONGEST_MARKDOWN;
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
