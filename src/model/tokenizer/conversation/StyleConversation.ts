/**
 * Conversations in the styles that need no template of a folder: ChatML, and the small model's short form. Pure.
 * Invariant: without tools, the text is that of the same style's `ChatTemplate`.
 */
import { Effect } from "effect";
import type { Conversation } from "../../../domain/Conversation.ts";
import { type ChatStyle, styles, type TextPart, trustedText } from "../ChatTexts.ts";
import { behindPrefix } from "./behindPrefix.ts";
import type { ConversationTexts } from "./ConversationTexts.ts";
import { chatmlForm } from "./chatmlForm.ts";
import { compactForm } from "./compactForm.ts";
import type { Form } from "./Form.ts";

const forms: Readonly<Record<ChatStyle, Form>> = { compact: compactForm, chatml: chatmlForm };

/** The parts of a conversation up to its last message. An empty text of the system is left out. */
const openingParts = (form: Form, { messages, tools }: Conversation, replyPrefix: string): readonly TextPart[] => {
  const [first] = messages;
  const text = first?.role === "system" ? first.text : "";
  const rest = first?.role === "system" ? messages.slice(1) : messages;
  const turns = form.turns(rest, tools, replyPrefix);
  return text === "" && tools.length === 0 ? turns : [...form.system(text, tools), ...turns];
};

/** The parts that `write` gives. Arguments that are nested too deep for the stack fail. */
const attempt = (write: () => readonly TextPart[]): Effect.Effect<readonly TextPart[], string> =>
  Effect.try({ try: write, catch: (cause) => `these messages cannot be written: ${String(cause)}` });

/** The texts of a style. */
export const make = (style: ChatStyle): ConversationTexts => {
  const form = forms[style];
  const promptPart = (replyPrefix: string) => trustedText(form.prompt + replyPrefix);
  return {
    opening: (conversation, replyPrefix) =>
      attempt(() => [...openingParts(form, conversation, replyPrefix), promptPart(replyPrefix)]),
    bridge: (added, tools, replyPrefix) => {
      const end = trustedText(styles[style].end + form.behindReply);
      return attempt(() => [end, ...form.turns(added, tools, replyPrefix), promptPart(replyPrefix)]);
    },
    reply: (message, tools, replyPrefix) =>
      Effect.flatMap(
        attempt(() => form.reply(message, tools, replyPrefix)),
        (parts) => Effect.fromResult(behindPrefix(parts, replyPrefix, replyPrefix)),
      ).pipe(Effect.map((parts) => [...parts, trustedText(styles[style].end)])),
    toolStructure: form.toolStructure,
    read: form.read,
    toolsProblem: undefined,
    rewriting: () => undefined,
    isAppendOnly: true,
  };
};
