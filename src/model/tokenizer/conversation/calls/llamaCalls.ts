/** Tool calls as Llama 3 writes them: a reply that is one JSON object with a name and parameters, behind `<|python_tag|>` or alone. */
import { Option } from "effect";
import type { Tool } from "../../../../domain/Conversation.ts";
import { isJsonObject } from "../../../checkpoint/TokenizerFiles.ts";
import { quote } from "../../quote.ts";
import { type CallReading, unknownTool } from "../readReply.ts";
import { callIn } from "./hermesCalls.ts";
import { parseJson } from "./parseJson.ts";

const pythonTag = "<|python_tag|>";

/** True for a reply that means to be a call: behind the tag, or JSON with a name, whole or cut off. */
const isCallLike = (body: string, isTagged: boolean): boolean => {
  if (isTagged) return true;
  const value = Option.getOrUndefined(parseJson(body));
  return isJsonObject(value) ? "name" in value : /^\{\s*"name"\s*:/.test(body);
};

/** Reads the call of a reply. */
export const readLlama = (text: string, tools: readonly Tool[]): CallReading => {
  const trimmed = text.trim();
  const isTagged = trimmed.startsWith(pythonTag);
  const body = isTagged ? trimmed.slice(pythonTag.length).trim() : trimmed;
  if (tools.length === 0 || !isCallLike(body, isTagged)) return { text, calls: [], problems: [] };
  const call = Option.getOrUndefined(callIn(body, "parameters"));
  if (call === undefined) {
    const problem = `the call ${quote(trimmed)} is no single JSON object with a name and parameters`;
    return { text, calls: [], problems: [problem] };
  }
  if (!tools.some(({ name }) => name === call.name)) return { text, calls: [], problems: [unknownTool(call.name)] };
  return { text: "", calls: [call], problems: [] };
};
