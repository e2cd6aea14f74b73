/** The small model's short form: one token before each message, a line for each tool, results as a user's texts. */
import type { AssistantMessage, Tool } from "../../../domain/Conversation.ts";
import { styles, type TextPart, trustedText, untrustedText } from "../ChatTexts.ts";
import { readCompact, toolLine, writeCall } from "./calls/compactCalls.ts";
import type { Form } from "./Form.ts";
import { readReply } from "./readReply.ts";

/** A reply that was not sampled, in the form that the prefix asks for: a thought stays in front of the answer. */
const writeReply = ({ calls, text }: AssistantMessage, tools: readonly Tool[], replyPrefix: string): string => {
  const [thought = ""] = /^<think>[\s\S]*?<\/think>/.exec(text) ?? [];
  const words = text.slice(thought.length);
  const lines = [...(words === "" ? [] : [words]), ...calls.map((call) => writeCall(call, tools))].join("\n");
  const isAnswer = /<answer>|<think>/.test(replyPrefix) && !lines.includes("<answer>");
  return thought + (isAnswer ? `<answer>${lines}</answer>` : lines);
};

const joinLines = (text: string, tools: readonly Tool[]): string =>
  [...(text === "" ? [] : [text]), ...tools.map(toolLine)].join("\n");

export const compactForm: Form = {
  read: readReply(readCompact),
  behindReply: "",
  prompt: "<|assistant|>",
  toolStructure: "",
  system: (text, tools) => [trustedText("<|system|>"), untrustedText(joinLines(text, tools))],
  reply: (message, tools, replyPrefix) => [untrustedText(writeReply(message, tools, replyPrefix))],
  turns: (messages, tools, replyPrefix) =>
    messages.flatMap((message): readonly TextPart[] => {
      if (message.role === "assistant") {
        const reply = writeReply(message, tools, replyPrefix);
        return [trustedText("<|assistant|>"), untrustedText(reply), trustedText(styles.compact.end)];
      }
      return [trustedText(message.role === "system" ? "<|system|>" : "<|user|>"), untrustedText(message.text)];
    }),
};
