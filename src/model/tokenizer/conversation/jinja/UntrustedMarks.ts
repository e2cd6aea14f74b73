/**
 * Finds in a rendered chat which tokens came from messages. A mark, a character that occurs nowhere else, goes behind every character of an
 * untrusted text that could begin a token; the template carries both along as it trims, cuts or quotes the text.
 * Invariant: a token in the rendering is untrusted if its first character has a mark. A text without such a character is rendered unmarked.
 */
import { type TextPart, trustedText, untrustedText } from "../../ChatTexts.ts";

export interface UntrustedMarks {
  /** Marks an untrusted text. In a reply the tags of thoughts stay as they are, because templates look for them. */
  readonly mark: (text: string, isReply: boolean) => string;
  /** The parts of a rendering, without marks. */
  readonly parts: (rendering: string) => readonly TextPart[];
}

const thoughtTags = ["<think>", "</think>"];

/** Characters for private use, of which a conversation may have some. */
const candidates = Array.from({ length: 64 }, (_, index) => String.fromCharCode(0xe000 + 97 * index));

/** The character of `text` that ends before `at`. */
const lastCharacter = (text: string, at: number): string => {
  const code = text.codePointAt(at - 2);
  return code !== undefined && code > 0xffff ? String.fromCodePoint(code) : text.slice(at - 1, at);
};

/** The first character of each token; none for those that begin with a space, at which templates trim. */
const firstCharacters = (tokens: readonly string[]): ReadonlySet<string> =>
  new Set(tokens.flatMap((token) => Array.from(token).slice(0, 1)).filter((first) => first.trim() !== ""));

/** Parts of `pieces`, whose ends are marked: a marked character is untrusted where one of `tokens` begins with it. */
const partsOf = (pieces: readonly string[], tokens: readonly string[]): readonly TextPart[] => {
  const text = pieces.join("");
  const parts: TextPart[] = [];
  let from = 0;
  let at = 0;
  for (const piece of pieces.slice(0, -1)) {
    at += piece.length;
    const start = at - lastCharacter(text, at).length;
    if (start < from || !tokens.some((token) => text.startsWith(token, start))) continue;
    parts.push(trustedText(text.slice(from, start)), untrustedText(text.slice(start, at)));
    from = at;
  }
  return [...parts, trustedText(text.slice(from))];
};

/** Marks for a chat in which untrusted texts may not spell `tokens`; undefined where `chat` has every character that could mark. */
export const makeMarks = (tokens: readonly string[], chat: string): UntrustedMarks | undefined => {
  const mark = candidates.find((candidate) => !chat.includes(candidate));
  if (mark === undefined) return undefined;
  const firsts = firstCharacters(tokens);
  const tags = thoughtTags.filter((tag) => !tokens.includes(tag));
  return {
    mark: (text, isReply) => {
      const keptTags = isReply ? thoughtTags : tags;
      let at = 0;
      let marked = "";
      for (const character of text) {
        const start = at;
        const isKept = !firsts.has(character) || keptTags.some((tag) => text.startsWith(tag, start));
        marked += isKept ? character : character + mark;
        at += character.length;
      }
      return marked;
    },
    parts: (rendering) => partsOf(rendering.split(mark), tokens),
  };
};
