/**
 * Conversations in the styles that need no template of a folder: ChatML, and the small model's short form. Pure.
 * Invariant: without tools, the ids are those of the same style's `ChatTemplate`.
 */
import { Effect } from "effect";
import type { AssistantMessage, Conversation, Message, Tool } from "../../../domain/Conversation.ts";
import { type ChatStyle, styles, type TextPart, trustedText, untrustedText } from "../ChatTexts.ts";
import type { ConversationTexts } from "./ConversationTexts.ts";
import { readCompact, toolLine, writeCall } from "./calls/compactCalls.ts";
import { readReply } from "./readReply.ts";

/** A style's way to write messages. */
interface Form {
  readonly reader: ConversationTexts["read"];
  /** From the end of a reply to the next turn. */
  readonly behindReply: string;
  readonly prompt: string;
  readonly toolStructure: string;
  readonly systemText: (text: string, tools: readonly Tool[]) => readonly TextPart[];
  readonly turns: (messages: readonly Message[], tools: readonly Tool[], replyPrefix: string) => readonly TextPart[];
  readonly systemTurn: (text: readonly TextPart[]) => readonly TextPart[];
}

/** A reply that was not sampled, in the form that the prefix asks for. */
const compactReply = ({ calls, text }: AssistantMessage, tools: readonly Tool[], replyPrefix: string): string => {
  const lines = [...(text === "" ? [] : [text]), ...calls.map((call) => writeCall(call, tools))].join("\n");
  return /<answer>|<think>/.test(replyPrefix) && !lines.includes("<answer>") ? `<answer>${lines}</answer>` : lines;
};

const compact: Form = {
  reader: readReply(readCompact),
  behindReply: "",
  prompt: "<|assistant|>",
  toolStructure: "",
  systemText: (text, tools) => [untrustedText([...(text === "" ? [] : [text]), ...tools.map(toolLine)].join("\n"))],
  systemTurn: (text) => [trustedText("<|system|>"), ...text],
  turns: (messages, tools, replyPrefix) =>
    messages.flatMap((message): readonly TextPart[] => {
      if (message.role === "assistant") {
        const reply = compactReply(message, tools, replyPrefix);
        return [trustedText("<|assistant|>"), untrustedText(reply), trustedText(styles.compact.end)];
      }
      return [trustedText(message.role === "system" ? "<|system|>" : "<|user|>"), untrustedText(message.text)];
    }),
};

const forms: Readonly<Record<ChatStyle, Form>> = { compact, chatml: compact };

/** The parts of a conversation up to its last message. An empty text of the system is left out. */
const openingParts = (form: Form, { messages, tools }: Conversation, replyPrefix: string): readonly TextPart[] => {
  const [first] = messages;
  const system = first?.role === "system" ? first.text : "";
  const rest = first?.role === "system" ? messages.slice(1) : messages;
  const turns = form.turns(rest, tools, replyPrefix);
  return system === "" && tools.length === 0 ? turns : [...form.systemTurn(form.systemText(system, tools)), ...turns];
};

/** The texts of a style. */
export const make = (style: ChatStyle): ConversationTexts => {
  const form = forms[style];
  const promptPart = (replyPrefix: string) => trustedText(form.prompt + replyPrefix);
  return {
    opening: (conversation, replyPrefix) =>
      Effect.succeed([...openingParts(form, conversation, replyPrefix), promptPart(replyPrefix)]),
    bridge: (added, tools, replyPrefix) => {
      const end = trustedText(styles[style].end + form.behindReply);
      return Effect.succeed([end, ...form.turns(added, tools, replyPrefix), promptPart(replyPrefix)]);
    },
    toolStructure: form.toolStructure,
    read: form.reader,
    toolsProblem: undefined,
    rewriting: () => undefined,
    isAppendOnly: true,
  };
};
