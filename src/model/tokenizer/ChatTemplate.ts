/**
 * Renders a chat piece by piece: the opening before the first reply, then only the bridges between replies.
 * Earlier ids are never rendered again, because a template applied to the whole chat may split text differently and drop or add
 * tokens.
 * Invariants: opening + reply + bridge + reply + …, each reply ending in `endId`, spells what the template writes around these
 * replies.
 * Text of the system, the user or an environment cannot close a turn or open another.
 */
import { Effect, Result } from "effect";
import { type CheckpointError, checkpointError } from "../checkpoint/CheckpointError.ts";
import { type ChatStyle, openingParts, type TextPart, trim, trustedText, untrustedText } from "./ChatTexts.ts";
import * as FolderTemplate from "./FolderTemplate.ts";
import type { Limits } from "./JinjaTemplate.ts";
import {
  hasThoughts,
  openThought,
  promptOf,
  structureTokens,
  styleTexts,
  type TextVariants,
  textsFor,
  thoughtTag,
} from "./TextVariants.ts";
import type { Tokenizer } from "./Tokenizer.ts";

export interface ChatTemplate {
  /**
   * Ids up to the first reply. An empty `system` leaves that message out; `replyPrefix` begins the reply. Where the template knows
   * thoughts, a prefix `<think>` asks for one, and any other prefix for a reply without.
   */
  readonly opening: (system: string, user: string, replyPrefix?: string) => Int32Array;
  /** Ids between a reply that ended with `endId` and the next reply. */
  readonly bridge: (nextUser: string, replyPrefix?: string) => Int32Array;
  /** Counts the ids of an opening before the text of its user message: the system message and the user's marker. */
  readonly beforeUser: (opening: Int32Array) => number;
  /** The token that ends a reply, as the template writes it. */
  readonly endId: number;
  /** Every token that ends a reply as it is sampled, `endId` first. */
  readonly endIds: readonly number[];
  /** A reply that somebody wrote: the prefix that asks for it, and the ids that follow, without an end. */
  readonly encodeReply: (reply: string) => WrittenReply;
}

export interface WrittenReply {
  readonly replyPrefix: string;
  readonly ids: Int32Array;
}

/** The prefix and the rest of a written reply. The space between an opened thought and its words may stand in the prompt already. */
const splitThought = (texts: TextVariants, reply: string): readonly [replyPrefix: string, rest: string] => {
  if (!hasThoughts(texts) || !reply.startsWith(thoughtTag)) return ["", reply];
  const open = openThought.exec(texts.thinking.prompt)?.[0].slice(thoughtTag.length) ?? "";
  const rest = reply.slice(thoughtTag.length);
  return [thoughtTag, rest.startsWith(open) ? rest.slice(open.length) : rest];
};

const countOf = (text: string, part: string): number => text.split(part).length - 1;

/** The first of `tokens` in `text`; of several that begin there, the longest. */
const firstOf = (text: string, tokens: Iterable<string>): string | undefined => {
  let best: string | undefined;
  let at = text.length;
  for (const token of tokens) {
    const position = text.indexOf(token);
    if (position < 0 || position > at || (position === at && token.length <= (best?.length ?? 0))) continue;
    [best, at] = [token, position];
  }
  return best;
};

/** The ids that mark turns. */
interface Ids {
  readonly end: number;
  /** The token that opens a user's turn; no untrusted text can spell it. */
  readonly marker: number;
  /** Count of the marker in a prompt, after a user's text. */
  readonly markersAfter: number;
}

const refusedMarks = "its switch for thoughts changes the tokens that mark turns";

const idsOf = ({ plain, thinking }: TextVariants, added: Tokenizer["added"]): Result.Result<Ids, string> => {
  const marker = firstOf(plain.between, added.keys());
  const [end, markerId] = [added.get(plain.end), marker === undefined ? undefined : added.get(marker)];
  if (end === undefined || marker === undefined || markerId === undefined) {
    return Result.fail(
      `its chat template opens a user's turn with no token of its own: ${JSON.stringify(plain.between)}`,
    );
  }
  if (firstOf(plain.earlierPrompt, added.keys()) === undefined) {
    return Result.fail(
      `its chat template closes a user's turn with no token of its own: ${JSON.stringify(plain.earlierPrompt)}`,
    );
  }
  const markersAfter = countOf(plain.prompt, marker);
  const alike = thinking.end === plain.end && countOf(thinking.prompt, marker) === markersAfter;
  return alike ? Result.succeed({ end, marker: markerId, markersAfter }) : Result.fail(refusedMarks);
};

/** The texts as ids. */
const templateFrom = (texts: TextVariants, tokenizer: Tokenizer, ids: Ids, eos: readonly number[]): ChatTemplate => {
  const guarded = structureTokens(texts, tokenizer.added.keys());
  const encode = (parts: readonly TextPart[]) => tokenizer.encodeParts(parts, guarded);
  return {
    endId: ids.end,
    endIds: [...new Set([ids.end, ...eos])],
    opening: (system, user, replyPrefix = "") => {
      const chosen = textsFor(texts, replyPrefix);
      return encode([...openingParts(chosen, system, user), trustedText(promptOf(chosen.prompt, replyPrefix))]);
    },
    bridge: (nextUser, replyPrefix = "") => {
      const chosen = textsFor(texts, replyPrefix);
      const user = untrustedText(trim(nextUser, chosen.trims.user));
      // A token may take the whitespace behind it, so the end is encoded with what follows.
      return encode([
        trustedText(chosen.end + chosen.between),
        user,
        trustedText(promptOf(chosen.prompt, replyPrefix)),
      ]).slice(1);
    },
    beforeUser: (opening) => {
      let at = opening.length;
      for (let left = ids.markersAfter; left >= 0 && at > 0; left--) at = opening.lastIndexOf(ids.marker, at - 1);
      return at < 0 ? opening.length : at + 1;
    },
    encodeReply: (reply) => {
      const [replyPrefix, rest] = splitThought(texts, reply);
      return { replyPrefix, ids: encode([untrustedText(rest)]) };
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
  limits?: Limits,
): Effect.Effect<ChatTemplate, CheckpointError> =>
  Effect.gen(function* () {
    const texts = yield* style === undefined
      ? Effect.scoped(Effect.map(FolderTemplate.open(tokenizer, limits), ({ variants }) => variants))
      : Effect.fromResult(styleTexts(tokenizer, style));
    const ids = yield* Effect.fromResult(idsOf(texts, tokenizer.added));
    return templateFrom(texts, tokenizer, ids, eos);
  }).pipe(Effect.mapError((reason) => checkpointError(tokenizer.path, "unsupported", reason)));
