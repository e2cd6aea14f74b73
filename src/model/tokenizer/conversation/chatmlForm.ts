/**
 * ChatML with tools in the form of Hermes and Qwen2.5: the tools as JSON in the system's text, calls and results between tags, neighbouring
 * results in one turn of the user.
 */
import type { AssistantMessage, Message, Tool } from "../../../domain/Conversation.ts";
import { type TextPart, trustedText, untrustedText } from "../ChatTexts.ts";
import { readHermes } from "./calls/hermesCalls.ts";
import type { Form } from "./Form.ts";
import { readReply } from "./readReply.ts";
import { spacedJson } from "./spacedJson.ts";

const before = "# Tools\n\nYou may call these functions. Each is a JSON object:\n<tools>";
const behind =
  "\n</tools>\n\nTo call one, write a JSON object with its name and arguments between tags:\n" +
  '<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>';
const results = ["<tool_response>", "</tool_response>"] as const;

const toolJson = ({ description, name, parameters }: Tool): string =>
  spacedJson({ type: "function", function: { name, description, parameters } });

const turn = (role: string, text: readonly TextPart[]): readonly TextPart[] => [
  trustedText(`<|im_start|>${role}\n`),
  ...text,
  trustedText("<|im_end|>\n"),
];

const callParts = ({ calls, text }: AssistantMessage): readonly TextPart[] =>
  calls.flatMap((call, at) => [
    trustedText(`${at === 0 && text === "" ? "" : "\n"}<tool_call>\n`),
    untrustedText(spacedJson({ name: call.name, arguments: call.arguments })),
    trustedText("\n</tool_call>"),
  ]);

const replyParts = (message: AssistantMessage): readonly TextPart[] => [
  untrustedText(message.text),
  ...callParts(message),
];

/** A message as turns; a result opens a turn unless one stands before it, and closes it unless one follows. */
const messageParts = (message: Message, at: number, messages: readonly Message[]): readonly TextPart[] => {
  if (message.role === "assistant") return turn("assistant", replyParts(message));
  if (message.role !== "tool") return turn(message.role, [untrustedText(message.text)]);
  const isFirst = messages[at - 1]?.role !== "tool";
  const isLast = messages[at + 1]?.role !== "tool";
  return [
    trustedText(`${isFirst ? "<|im_start|>user\n" : "\n"}${results[0]}\n`),
    untrustedText(message.text),
    trustedText(`\n${results[1]}${isLast ? "<|im_end|>\n" : ""}`),
  ];
};

export const chatmlForm: Form = {
  read: readReply(readHermes),
  behindReply: "\n",
  prompt: "<|im_start|>assistant\n",
  toolStructure: before + behind + results.join(""),
  system: (text, tools) => {
    const offered = tools.flatMap((tool) => [trustedText("\n"), untrustedText(toolJson(tool))]);
    const head =
      tools.length === 0 ? [] : [trustedText((text === "" ? "" : "\n\n") + before), ...offered, trustedText(behind)];
    return turn("system", [untrustedText(text), ...head]);
  },
  reply: replyParts,
  turns: (messages) => messages.flatMap(messageParts),
};
