/** Conversations in the form that chat templates expect. */
import type { Message, Tool, ToolCall } from "../../../../domain/Conversation.ts";
import { isJsonObject } from "../../../checkpoint/TokenizerFiles.ts";
import type * as Request from "../../templateProcess.ts";

/** Changes a text on its way to the template. */
export type TextMap = (text: string, isReply: boolean) => string;

export const asItIs: TextMap = (text) => text;

/** A JSON value with all its texts changed, names of members included. */
const mapTexts = (value: unknown, map: TextMap): unknown => {
  if (typeof value === "string") return map(value, false);
  if (Array.isArray(value)) return value.map((member) => mapTexts(member, map));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [map(name, false), mapTexts(member, map)]));
};

const callRequest = ({ arguments: values, id, name }: ToolCall, map: TextMap): Request.CallRequest => ({
  id: map(id, false),
  type: "function",
  function: { name: map(name, false), arguments: mapTexts(values, map) },
});

export const messageRequest = (message: Message, map: TextMap): Request.Message => {
  const { role } = message;
  const content = map(message.text, role === "assistant");
  if (message.role === "tool") return { role, content, tool_call_id: map(message.call, false) };
  if (message.role !== "assistant" || message.calls.length === 0) return { role, content };
  return { role, content, tool_calls: message.calls.map((call) => callRequest(call, map)) };
};

/** The offered tools; undefined where there are none. */
export const toolRequests = (tools: readonly Tool[], map: TextMap): readonly Request.ToolRequest[] | undefined =>
  tools.length === 0
    ? undefined
    : tools.map(({ description, name, parameters }) => ({
        type: "function",
        function: {
          name: map(name, false),
          description: map(description, false),
          parameters: mapTexts(parameters, map),
        },
      }));
