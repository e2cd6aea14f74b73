/**
 * Tool calls as Hermes and Qwen write them: a JSON object with a name and arguments between `<tool_call>` and `</tool_call>`. Text may stand
 * around them.
 */
import { Option } from "effect";
import type { Tool } from "../../../../domain/Conversation.ts";
import { isJsonObject, type JsonObject } from "../../../checkpoint/TokenizerFiles.ts";
import { quote } from "../../quote.ts";
import { type CallReading, type ReadCall, unknownTool } from "../readReply.ts";
import { parseJson } from "./parseJson.ts";

const open = "<tool_call>";
const close = "</tool_call>";

/** The arguments of a call: an object, or a text that holds one; none where they are left out. */
export const argumentsOf = (value: unknown): Option.Option<JsonObject> => {
  if (value === undefined || value === null) return Option.some({});
  const parsed = typeof value === "string" ? Option.getOrUndefined(parseJson(value)) : value;
  return isJsonObject(parsed) ? Option.some(parsed) : Option.none();
};

/** The call that `text` is, if it is a JSON object with a name, and arguments under `key`. */
export const callIn = (text: string, key: "arguments" | "parameters"): Option.Option<ReadCall> =>
  Option.flatMap(parseJson(text), (value) => {
    if (!isJsonObject(value) || typeof value.name !== "string") return Option.none();
    const { name } = value;
    return Option.map(argumentsOf(value[key]), (values) => ({ name, arguments: values }));
  });

interface Block {
  readonly call: Option.Option<ReadCall>;
  /** Index behind the block. */
  readonly end: number;
}

/** The call that begins at `start`. Its own texts may spell the closing tag; a call at a reply's end may lack it. */
const blockAt = (text: string, start: number): Block => {
  const from = start + open.length;
  const first = text.indexOf(close, from);
  for (let at = first; at >= 0; at = text.indexOf(close, at + 1)) {
    const call = callIn(text.slice(from, at), "arguments");
    if (Option.isSome(call)) return { call, end: at + close.length };
  }
  if (first >= 0) return { call: Option.none(), end: first + close.length };
  return { call: callIn(text.slice(from), "arguments"), end: text.length };
};

/** Reads the calls of a reply. */
export const readHermes = (text: string, tools: readonly Tool[]): CallReading => {
  if (tools.length === 0) return { text, calls: [], problems: [] };
  let left = "";
  let at = 0;
  const calls: ReadCall[] = [];
  const problems: string[] = [];
  for (let start = text.indexOf(open); start >= 0; start = text.indexOf(open, at)) {
    const { call, end } = blockAt(text, start);
    const name = Option.getOrUndefined(call)?.name;
    const isOffered = tools.some((tool) => tool.name === name);
    if (Option.isSome(call) && isOffered) calls.push(call.value);
    else if (name !== undefined) problems.push(unknownTool(name));
    else problems.push(`the call ${quote(text.slice(start, end))} is no JSON object with a name and arguments`);
    left += text.slice(at, isOffered ? start : end);
    at = end;
  }
  left += text.slice(at);
  return { text: calls.length === 0 ? text : left.trim(), calls, problems };
};
