/** Tools and messages that the tests of conversations share. */
import type { Message, Tool, ToolCall } from "../../../../src/domain/Conversation.ts";

const object = (properties: Readonly<Record<string, unknown>>) => ({ type: "object", properties });

export const look: Tool = { name: "look", description: "Shows the board.", parameters: object({}) };
export const say: Tool = {
  name: "say",
  description: "Says a\ntext.",
  parameters: object({ text: { type: "string" } }),
};
export const move: Tool = {
  name: "move",
  description: "",
  parameters: object({ row: { type: "integer" }, name: { type: "string" }, fast: { type: "boolean" } }),
};

export const tools: readonly Tool[] = [look, say, move];

export const user = (text: string): Message => ({ role: "user", text });
export const system = (text: string): Message => ({ role: "system", text });
export const result = (text: string, call = "c1"): Message => ({ role: "tool", call, text });
export const assistant = (text: string, ...calls: readonly ToolCall[]): Message => ({ role: "assistant", text, calls });
export const call = (name: string, values: unknown, id = "c1"): ToolCall => ({ id, name, arguments: values });
