/** Tool calls and messages of an agent's call, in words. Pure. */
import type { AgentCall } from "../../../../domain/AgentCall.ts";
import type { Message, ToolCall } from "../../../../domain/Conversation.ts";

/** Characters of a row's head. */
const longestHead = 90;

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const valueText = (value: unknown): string => JSON.stringify(value) ?? "";

/** A call as code writes it: `search(query: "moon", limit: 3)`. One argument stands without its name. */
export const toolCallText = ({ arguments: values, name }: Pick<ToolCall, "name" | "arguments">): string => {
  if (!isPlainObject(values)) return `${name}(${valueText(values)})`;
  const entries = Object.entries(values);
  if (entries.length === 0) return `${name}()`;
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) return `${name}(${valueText(only[1])})`;
  return `${name}(${entries.map(([key, value]) => `${key}: ${valueText(value)}`).join(", ")})`;
};

/** On one line, cut where it is long. */
export const shortText = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > longestHead ? `${line.slice(0, longestHead)}…` : line;
};

/** A message before a reply: who wrote it, and its text with its tool calls. */
export interface ShownMessage {
  readonly kind: Message["role"];
  readonly title: string;
  readonly text: string;
}

/**
 * The messages that a call added. A tool's result is named by the call that it answers: one of the parent's, or one in the messages
 * themselves. Clients that give calls ids of their own leave the results in the order of the calls.
 */
export const shownMessages = (
  { added }: Pick<AgentCall, "added">,
  parent: AgentCall | null,
): readonly ShownMessage[] => {
  let toolCalls: readonly ToolCall[] = parent?.calls ?? [];
  let results = 0;
  return added.map((message): ShownMessage => {
    switch (message.role) {
      case "tool": {
        const call = toolCalls.find(({ id }) => id === message.call) ?? toolCalls[results];
        results++;
        return { kind: "tool", title: call === undefined ? "result" : `${toolCallText(call)} →`, text: message.text };
      }
      case "assistant": {
        toolCalls = message.calls;
        results = 0;
        const lines = [message.text, ...message.calls.map(toolCallText)].filter((line) => line !== "");
        return { kind: "assistant", title: "assistant, as the client sent it", text: lines.join("\n") };
      }
      default:
        return { kind: message.role, title: message.role, text: message.text };
    }
  });
};
