/**
 * Renders a chat piece by piece: the opening before the first reply, then only the text between two replies. Earlier ids are never
 * rendered again, because a template applied to the whole chat may split text differently and drop or add what was not sampled.
 * Invariants: opening + reply + bridge + reply + …, each reply ending in `endId`, spells what the template writes around these replies,
 * after the prompt by which each was asked for; text of the system, the user or an environment cannot close a turn or open another.
 */
import { Effect, Result } from "effect";
import { type CheckpointError, checkpointError } from "../checkpoint/CheckpointError.ts";
import { templateOf } from "../checkpoint/TokenizerFiles.ts";
import {
  type ChatStyle,
  type ChatTexts,
  markersOf,
  openingParts,
  styles,
  type TextPart,
  trimmed,
  trusted,
  untrusted,
} from "./ChatTexts.ts";
import { deriveTexts } from "./deriveTexts.ts";
import * as JinjaTemplate from "./JinjaTemplate.ts";
import type { Tokenizer } from "./Tokenizer.ts";

export interface ChatTemplate {
  /**
   * Ids up to the first reply. An empty `system` leaves that message out; `replyPrefix` begins the reply. Where the template knows
   * thoughts, a prefix `<think>` asks for one, and any other prefix for a reply without.
   */
  readonly opening: (system: string, user: string, replyPrefix?: string) => Int32Array;
  /** Ids between a reply that ended with `endId` and the next reply. */
  readonly bridge: (nextUser: string, replyPrefix?: string) => Int32Array;
  /** How many of an opening's ids come before the text of its user message: the system message, and the marker of the user's role. */
  readonly beforeUser: (opening: Int32Array) => number;
  /** The token that ends a reply, as the template writes it. */
  readonly endId: number;
  /** Every token that ends a reply as it is sampled, `endId` first. */
  readonly endIds: readonly number[];
  /** A reply that somebody wrote: the prefix that asks for it, and the ids that follow, without an end. */
  readonly written: (reply: string) => Written;
}

export interface Written {
  readonly replyPrefix: string;
  readonly ids: Int32Array;
}

const thought = "<think>";
const openThought = /<think>\s*$/;

/** Whether replies of these texts think unless they are asked not to. */
const thinks = ({ prompt }: ChatTexts): boolean => prompt.thinking !== prompt.plain || openThought.test(prompt.thinking);

/** From a user's text to what the policy writes. A thought that the template opens is not opened twice, or is closed empty, as Qwen3 does. */
const promptOf = ({ prompt: { plain, thinking } }: ChatTexts, replyPrefix: string): string => {
  if (!replyPrefix.startsWith(thought)) return plain.replace(openThought, "<think>\n\n</think>\n\n") + replyPrefix;
  return openThought.test(thinking) ? thinking + replyPrefix.slice(thought.length) : thinking + replyPrefix;
};

/** The prefix and the rest of a written reply. The space between an opened thought and its words may stand in the prompt already. */
const split = (texts: ChatTexts, reply: string): readonly [replyPrefix: string, rest: string] => {
  if (!thinks(texts) || !reply.startsWith(thought)) return ["", reply];
  const open = openThought.exec(texts.prompt.thinking)?.[0].slice(thought.length) ?? "";
  const rest = reply.slice(thought.length);
  return [thought, rest.startsWith(open) ? rest.slice(open.length) : rest];
};

const countOf = (text: string, part: string): number => text.split(part).length - 1;

/** The first of `tokens` in `text`; of several that begin there, the longest. */
const firstOf = (text: string, tokens: Iterable<string>): string | undefined => {
  let best: string | undefined;
  let at = text.length;
  for (const token of tokens) {
    const found = text.indexOf(token);
    if (found < 0 || found > at || (found === at && token.length <= (best?.length ?? 0))) continue;
    [best, at] = [token, found];
  }
  return best;
};

/** The texts of a style, where the tokenizer has its markers. */
const styleTexts = (tokenizer: Tokenizer, style: ChatStyle): Result.Result<ChatTexts, string> => {
  const missing = markersOf[style].filter((marker) => !tokenizer.specials.has(marker));
  if (missing.length === 0) return Result.succeed(styles[style]);
  const names = missing.join(", ");
  return Result.fail(`the chat style "${style}" needs the special tokens ${names}, which this tokenizer does not have`);
};

/** The texts of the folder's own template; of ChatML where it has none. */
const textsOf = (tokenizer: Tokenizer): Result.Result<ChatTexts, string> => {
  const { files } = tokenizer;
  const found = templateOf(files);
  if (Result.isFailure(found)) return Result.fail(found.failure);
  if (found.success === undefined) {
    return Result.mapError(
      styleTexts(tokenizer, "chatml"),
      (reason) => `the folder has no chat template (chat_template), and ${reason}`,
    );
  }
  return JinjaTemplate.make(found.success, files.tokenizerConfig).pipe(
    Result.flatMap((template) => deriveTexts(template, tokenizer.added.keys())),
    Result.mapError((reason) => `its chat template is not supported: ${reason}`),
  );
};

/** The tokens that make up the turns: no untrusted text may spell them, special or not. Those of thoughts are not among them. */
const structure = ({ alone, between, end, head, system }: ChatTexts, tokens: Iterable<string>): readonly string[] => {
  const text = [alone, ...(system ?? []), head, end, between].join("");
  return [...tokens].filter((token) => token.trim() !== "" && text.includes(token));
};

/** The texts as ids. */
const rendering = (
  texts: ChatTexts,
  tokenizer: Tokenizer,
  { endIds, markerId, markersAfter }: { endIds: readonly number[]; markerId: number; markersAfter: number },
): ChatTemplate => {
  const [endId = -1] = endIds;
  const guarded = structure(texts, tokenizer.added.keys());
  const encode = (parts: readonly TextPart[]) => tokenizer.encodeParts(parts, guarded);
  return {
    endId,
    endIds,
    opening: (system, user, replyPrefix = "") =>
      encode([...openingParts(texts, system, user), trusted(promptOf(texts, replyPrefix))]),
    // A token may take the whitespace behind it, so the end is encoded with what follows.
    bridge: (nextUser, replyPrefix = "") =>
      encode([
        trusted(texts.end + texts.between),
        untrusted(trimmed(nextUser, texts.trims.user)),
        trusted(promptOf(texts, replyPrefix)),
      ]).slice(1),
    beforeUser: (opening) => {
      let at = opening.length;
      for (let left = markersAfter; left >= 0 && at > 0; left--) at = opening.lastIndexOf(markerId, at - 1);
      return at < 0 ? opening.length : at + 1;
    },
    written: (reply) => {
      const [replyPrefix, rest] = split(texts, reply);
      return { replyPrefix, ids: encode([untrusted(rest)]) };
    },
  };
};

/**
 * The chat template of `tokenizer`'s folder, or of `style`. A reply ends with the template's end token, and with any of `eos`. Fails with
 * `CheckpointError` where the tokenizer lacks the style's markers, or where the template cannot be written turn by turn.
 */
export const make = (
  tokenizer: Tokenizer,
  style: ChatStyle | undefined = tokenizer.chatStyle,
  eos: readonly number[] = [],
): Effect.Effect<ChatTemplate, CheckpointError> => {
  const refused = (detail: string) => Effect.fail(checkpointError(tokenizer.path, "unsupported", detail));
  const found = style === undefined ? textsOf(tokenizer) : styleTexts(tokenizer, style);
  if (Result.isFailure(found)) return refused(found.failure);
  const texts = found.success;
  const endId = tokenizer.added.get(texts.end);
  const marker = firstOf(texts.between, tokenizer.added.keys());
  const markerId = marker === undefined ? undefined : tokenizer.added.get(marker);
  if (endId === undefined || marker === undefined || markerId === undefined) {
    return refused(`its chat template opens a user's turn with no token of its own: ${JSON.stringify(texts.between)}`);
  }
  if (firstOf(texts.head, tokenizer.added.keys()) === undefined) {
    return refused(`its chat template closes a user's turn with no token of its own: ${JSON.stringify(texts.head)}`);
  }
  const endIds = [...new Set([endId, ...eos])];
  return Effect.succeed(
    rendering(texts, tokenizer, { endIds, markerId, markersAfter: countOf(texts.prompt.plain, marker) }),
  );
};
