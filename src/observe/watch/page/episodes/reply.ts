/**
 * Finds thought and answer among the tokens of a reply. Invariant: the two halves are all tokens in their order; a reply without
 * the form is one half, shown as it is.
 */

export interface ReplyParts {
  /** Text glued to the start of the reply, which was not sampled. */
  readonly prefix: string;
  /** Tokens before this index are the thought, the others the answer; null where the text has not the form. */
  readonly answerFrom: number | null;
  readonly thinks: boolean;
  /** By token: it is nothing but tags and space. */
  readonly markup: readonly boolean[];
}

/** The text before the pieces, if the content ends with them; the end token may have no text. */
const prefixOf = (content: string, pieces: readonly string[]): string => {
  for (const text of [pieces.join(""), pieces.slice(0, -1).join("")]) {
    if (content.endsWith(text)) return content.slice(0, content.length - text.length);
  }
  return "";
};

const tag = /<\/?(?:think|answer)>|<\|im_(?:start|end)\|>/g;

/** `content` is the reply's text, `pieces` the text of each of its tokens. */
export const partsOf = (content: string, pieces: readonly string[]): ReplyParts => {
  const prefix = prefixOf(content, pieces);
  const text = prefix + pieces.join("");
  const turn = /<\/think>\s*<answer>/.exec(text);
  const open = text.indexOf("<answer>");
  const thinks = text.includes("<think>");
  const answerAt = thinks ? (turn === null ? -1 : turn.index + turn[0].length - "<answer>".length) : open;
  const tags = Array.from(text.matchAll(tag), ({ 0: one, index }) => [index, index + one.length] as const);
  const markup: boolean[] = [];
  let answerFrom: number | null = null;
  let start = prefix.length;
  for (const [at, piece] of pieces.entries()) {
    const end = start + piece.length;
    // A token that begins before the answer's tag and ends in it belongs to the thought.
    if (answerAt >= 0 && answerFrom === null && start >= answerAt) answerFrom = at;
    const inTags = Array.from(piece).every((character, offset) => {
      const index = start + offset;
      return character.trim() === "" || tags.some(([from, to]) => index >= from && index < to);
    });
    markup.push(inTags);
    start = end;
  }
  return { prefix, answerFrom: answerAt < 0 ? null : (answerFrom ?? pieces.length), thinks, markup };
};

/** The same of a text alone, where the pieces are not recorded. */
export const textParts = (content: string): { readonly thought: string; readonly answer: string } | null => {
  const match = /^(?:[\s\S]*?<think>([\s\S]*?)<\/think>\s*)?<answer>([\s\S]*?)(?:<\/answer>[\s\S]*)?$/.exec(content);
  return match === null ? null : { thought: (match[1] ?? "").trim(), answer: (match[2] ?? "").trim() };
};
