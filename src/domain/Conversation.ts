/** The messages of a call to a model, as all dialects of the wire have them in common. */
import { isDeepStrictEqual } from "node:util";

/** A call of a tool that a reply asks for. */
export interface ToolCall {
  /** Names the call for the result that answers it. */
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON values. */
  readonly arguments: unknown;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

export type Message =
  | { readonly role: "system" | "user"; readonly text: string }
  | AssistantMessage
  /** The result of the tool call with this id. */
  | { readonly role: "tool"; readonly call: string; readonly text: string };

/** A tool that a call offers to the model. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: unknown;
}

/** The tools that a reply may call: any, none, at least one, or the one of this name. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** The messages and tools that a call shows to the model. */
export interface Conversation {
  readonly tools: readonly Tool[];
  readonly messages: readonly Message[];
}

/** True for calls of the same tools with the same arguments. Ids are left out: some clients give calls ids of their own. */
const callsAgree = (a: readonly ToolCall[], b: readonly ToolCall[]): boolean =>
  a.length === b.length &&
  a.every((call, at) => call.name === b[at]?.name && isDeepStrictEqual(call.arguments, b[at]?.arguments));

/** True if a client that sends one message back means the other: equal role, text and parsed tool calls. */
export const messagesAgree = (a: Message, b: Message): boolean => {
  if (a.role !== b.role || a.text !== b.text) return false;
  return a.role !== "assistant" || b.role !== "assistant" || callsAgree(a.calls, b.calls);
};

/** True if `messages` begins with `beginning`, from index `at` on. */
export const continuesWith = (messages: readonly Message[], at: number, beginning: readonly Message[]): boolean =>
  messages.length - at >= beginning.length &&
  beginning.every((message, index) => messagesAgree(message, messages[at + index] as Message));

/** The number of characters of what a conversation shows: its texts, tool calls and tools. Each message and tool counts one more. */
export const charactersOf = ({ messages, tools }: Conversation): number => {
  const written = (value: unknown): number => (JSON.stringify(value) ?? "").length;
  const texts = messages.reduce((sum, { text }) => sum + text.length + 1, 0);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const called = calls.reduce((sum, call) => sum + call.name.length + written(call.arguments) + 1, 0);
  const offered = tools.reduce((sum, { description, name, parameters }) => {
    return sum + name.length + description.length + written(parameters) + 1;
  }, 0);
  return texts + called + offered;
};

/** The text of messages, for people and logs. */
export const transcript = (messages: readonly Message[]): string =>
  messages.map(({ role, text }) => (role === "user" ? text : `${role}: ${text}`)).join("\n");
