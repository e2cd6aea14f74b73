/**
 * Renders conversations with tools to ids: a whole one up to the next reply, or the bridge behind an answered one. Sampled ids are never
 * rendered again.
 * Invariant: opening + reply + end + bridge is what the template writes for all messages, where `rewriting` has nothing to say. Texts that
 * clients send cannot spell the tokens that mark turns and calls.
 */
import { Effect, type Scope } from "effect";
import type { AssistantMessage, Conversation, Message, Tool } from "../../../domain/Conversation.ts";
import { type CheckpointError, checkpointError } from "../../checkpoint/CheckpointError.ts";
import type { ChatStyle, TextPart } from "../ChatTexts.ts";
import * as FolderTemplate from "../FolderTemplate.ts";
import type { Limits } from "../JinjaTemplate.ts";
import { structureTokens, styleTexts, type TextVariants, tokensIn } from "../TextVariants.ts";
import type { Tokenizer } from "../Tokenizer.ts";
import { type ConversationTexts, usesTools } from "./ConversationTexts.ts";
import * as JinjaConversation from "./jinja/JinjaConversation.ts";
import type { ReadReply } from "./readReply.ts";
import * as StyleConversation from "./StyleConversation.ts";

export interface ConversationTemplate {
  /** Ids of a whole conversation up to the next reply. Fails with a sentence where the template cannot write it. */
  readonly opening: (conversation: Conversation, replyPrefix: string) => Effect.Effect<Int32Array, string>;
  /**
   * Ids from behind the token that ended a reply (`ChatTemplate.endId`) up to the next reply, for the messages behind that reply. Fails with
   * a sentence where the template cannot write them.
   */
  readonly bridge: (
    added: readonly Message[],
    tools: readonly Tool[],
    replyPrefix: string,
  ) => Effect.Effect<Int32Array, string>;
  /**
   * Ids that the model would have to sample for a reply: from behind `replyPrefix` to the token that ends it. Fails with a sentence where the
   * template cannot write it, or where it begins otherwise.
   */
  readonly reply: (
    message: AssistantMessage,
    tools: readonly Tool[],
    replyPrefix: string,
  ) => Effect.Effect<Int32Array, string>;
  /** Reads a sampled reply: its text, with the prefix and without the token that ended it. */
  readonly read: (reply: string, tools: readonly Tool[]) => ReadReply;
  /** Says why tools cannot be offered; undefined where they can. */
  readonly toolsProblem: string | undefined;
  /** Says what the template changes in earlier texts once `added` follow a reply; undefined where they stay as they were. */
  readonly rewriting: (added: readonly Message[], replyPrefix: string) => string | undefined;
  /** True if earlier texts stay as they were, whatever follows: `rewriting` never has anything to say. */
  readonly isAppendOnly: boolean;
}

/** The texts as ids. */
const templateFrom = (texts: ConversationTexts, variants: TextVariants, tokenizer: Tokenizer): ConversationTemplate => {
  const { isAppendOnly, read, rewriting, toolsProblem } = texts;
  const turnTokens = structureTokens(variants, tokenizer.added.keys());
  const allTokens = [...new Set([...turnTokens, ...tokensIn(texts.toolStructure, tokenizer.added.keys())])];
  const encode = (parts: readonly TextPart[], hasTools: boolean) =>
    Effect.try({
      try: () => tokenizer.encodeParts(parts, hasTools ? allTokens : turnTokens),
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause)),
    });
  return {
    opening: (conversation, replyPrefix) =>
      Effect.flatMap(texts.opening(conversation, replyPrefix), (parts) =>
        encode(parts, usesTools(conversation.messages, conversation.tools)),
      ),
    bridge: (added, tools, replyPrefix) =>
      Effect.flatMap(texts.bridge(added, tools, replyPrefix), (parts) =>
        // A token may take the whitespace behind it, so the end is encoded with what follows.
        Effect.map(encode(parts, usesTools(added, tools)), (ids) => ids.slice(1)),
      ),
    reply: (message, tools, replyPrefix) =>
      Effect.flatMap(texts.reply(message, tools, replyPrefix), (parts) => encode(parts, usesTools([message], tools))),
    read,
    toolsProblem,
    rewriting,
    isAppendOnly,
  };
};

/**
 * The conversation template of `tokenizer`'s folder, or of `style`. The folder's own runs in a process that lives as long as the scope.
 * Fails with `CheckpointError` as `ChatTemplate.make` does.
 */
export const make = (
  tokenizer: Tokenizer,
  style: ChatStyle | undefined = tokenizer.chatStyle,
  limits?: Limits,
): Effect.Effect<ConversationTemplate, CheckpointError, Scope.Scope> =>
  Effect.gen(function* () {
    if (style !== undefined) {
      const variants = yield* Effect.fromResult(styleTexts(tokenizer, style));
      return templateFrom(StyleConversation.make(style), variants, tokenizer);
    }
    const { template, variants } = yield* FolderTemplate.open(tokenizer, limits);
    if (template === null) return templateFrom(StyleConversation.make("chatml"), variants, tokenizer);
    const texts = yield* Effect.mapError(JinjaConversation.make(template, variants, tokenizer), (reason) =>
      FolderTemplate.refuseTemplate(tokenizer, reason),
    );
    return templateFrom(texts, variants, tokenizer);
  }).pipe(Effect.mapError((reason) => checkpointError(tokenizer.path, "unsupported", reason)));
