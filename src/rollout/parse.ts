/**
 * Reads the named actions and the canonical form out of a reply's text. Pure and total; a reply that cannot be read is a value.
 * The grammar is RAGEN's: `<think>…</think> <answer>…</answer>` anywhere in the text, or the answer alone. Invariant: unless
 * markup is nested in markup, the canonical reply reads back to the same thought and actions. It is for people and logs; the model's
 * history is its ids.
 */
import type { Span } from "../domain/Episode.ts";

export interface Grammar {
  /** Replies carry a thought before the answer. */
  readonly think: boolean;
  /** Separates the actions of one answer; null where the whole answer is one action. */
  readonly separator: string | null;
  /** Actions taken of one reply; the rest is cut, without a penalty. */
  readonly maxActions: number;
}

export interface ParsedReply {
  /** True if the reply had the required form. */
  readonly parsed: boolean;
  readonly thought: string;
  /** The range between the thought's tags in the reply; null where it is empty, or nothing was read. */
  readonly span: Span | null;
  /** Trimmed, non-empty, at most `maxActions`; not yet mapped to an environment's names. */
  readonly actions: readonly string[];
  /** The reply rewritten in canonical form; the raw text when it could not be read. */
  readonly canonical: string;
}

/** Markup that has no meaning inside a thought or an answer, removed one after the other. */
const markup = ["<think>", "</think>", "<answer>", "</answer>", "<|im_start|>", "<|im_end|>"] as const;

const strip = (text: string): string => {
  let stripped = text;
  for (const token of markup) stripped = stripped.replaceAll(token, "");
  return stripped.trim();
};

/**
 * Thought and answer as the lazy pattern `<think>(.*?)</think>\s*<answer>(.*?)</answer>` finds them, in linear time: a thought ends
 * only where the answer follows directly, so a stray `</think>` belongs to it.
 */
const split = (reply: string, think: boolean): { readonly thought: Span; readonly answer: string } | null => {
  let thought: Span = [0, 0];
  let from: number;
  if (think) {
    const open = reply.indexOf("<think>");
    if (open < 0) return null;
    const turning = /<\/think>\s*<answer>/g;
    turning.lastIndex = open + "<think>".length;
    const turn = turning.exec(reply);
    if (turn === null) return null;
    thought = [open + "<think>".length, turn.index];
    from = turn.index + turn[0].length;
  } else {
    const open = reply.indexOf("<answer>");
    if (open < 0) return null;
    from = open + "<answer>".length;
  }
  const close = reply.indexOf("</answer>", from);
  return close < 0 ? null : { thought, answer: reply.slice(from, close) };
};

/** Reads `reply`, the generation prefix (`<think>` or `<answer>`) included. */
export const parse = (reply: string, grammar: Grammar): ParsedReply => {
  const parts = split(reply, grammar.think);
  if (parts === null) return { parsed: false, thought: "", span: null, actions: [], canonical: reply };
  const thought = strip(reply.slice(...parts.thought));
  const answer = strip(parts.answer);
  const named = (grammar.separator === null ? [answer] : answer.split(grammar.separator))
    .map((action) => action.trim())
    .filter((action) => action !== "");
  const actions = named.slice(0, grammar.maxActions);
  const shown = actions.length < named.length ? actions.join(` ${grammar.separator} `) : answer;
  const canonical = grammar.think ? `<think>${thought}</think><answer>${shown}</answer>` : `<answer>${shown}</answer>`;
  return { parsed: true, thought, span: thought === "" ? null : parts.thought, actions, canonical };
};
