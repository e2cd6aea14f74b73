/** An episode as one text for people: prompts and replies, plain or as markdown with its figures. Pure. */
import type { AgentCall } from "../../domain/AgentCall.ts";
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

/** The place of a call in its tree, in words. Calls are counted from 1, as people count. */
const placeText = ({ fork, number, parent }: AgentCall, isDiscarded: boolean): string =>
  [
    `reply of call ${number + 1}`,
    ...(parent === null ? [] : [`behind call ${parent + 1}`]),
    ...(fork === null ? [] : [`begun anew: ${fork.replaceAll("_", " ")}`]),
    ...(isDiscarded ? ["not trained"] : []),
  ].join(", ");

/** The messages of an agent's calls, in their order. */
const callParts = ({ discarded, messages, turns }: EpisodeRecord): readonly Part[] => {
  const replies = messages.filter(({ role }) => role === "assistant");
  return turns.flatMap(({ call }, at): readonly Part[] => {
    if (call === undefined) return [];
    const reply = { title: placeText(call, discarded === true), text: replies[at]?.content ?? "" };
    return [...call.added.map(({ role, text }): Part => ({ title: role, text })), reply];
  });
};

/** The messages of a token sequence, and the state that the episode ended in. */
const partsOf = (record: EpisodeRecord): readonly Part[] => {
  const { final, messages, turns } = record;
  const isAgent = turns.some(({ call }) => call !== undefined);
  const shown = isAgent
    ? callParts(record)
    : messages.map(({ content, role }): Part => ({ title: role, text: content }));
  return [...shown, ...(final === undefined ? [] : [{ title: "state at the end", text: final }])];
};

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
