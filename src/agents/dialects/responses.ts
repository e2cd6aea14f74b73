/** OpenAI's Responses. Messages, tool calls and tool results are items of one list, and a call may go on from an earlier answer. */
import { Result } from "effect";
import type { Message, ToolCall } from "../../domain/Conversation.ts";
import type { JsonObject } from "../../support/json.ts";
import { argumentsIn } from "../../support/text/callArguments.ts";
import { readPrompt, readReplyText, readToolResult } from "./content.ts";
import type { Dialect, Recall } from "./Dialect.ts";
import {
  isAbsent,
  mustBe,
  quoted,
  type Read,
  type Reader,
  readEach,
  readName,
  readObject,
  readOr,
  readString,
  refuse,
} from "./fields.ts";
import { type CallReaders, readCall } from "./readCall.ts";
import { responseAnswer, responseStream, responseStreamError } from "./responsesAnswer.ts";
import { type ItemId, parseItemId, responsePrefix } from "./responsesIds.ts";
import { readFunction, readOpenAiChoice, refuseHosted } from "./tools.ts";
import { emptyComment, keyOf, openAiError } from "./wire.ts";

/** An item of the input: a message, a tool call of the reply before it, or null for an item that is left out. */
type Item = Message | { readonly role: "call"; readonly call: ToolCall } | null;

const callItem = (call: ToolCall): Item => ({ role: "call", call });

const readMessage = ({ content, role }: JsonObject, path: string): Read<Item> =>
  Result.gen(function* () {
    const contentPath = `${path}.content`;
    if (role === "assistant") return { role, text: yield* readReplyText(content, contentPath), calls: [] };
    if (role === "user") return { role, text: yield* readPrompt(content, contentPath) };
    if (role !== "system" && role !== "developer") {
      return yield* mustBe(`${path}.role`, "system, developer, user or assistant");
    }
    return { role: "system", text: yield* readPrompt(content, contentPath) };
  });

const readFunctionCall = (item: JsonObject, path: string): Read<Item> =>
  Result.gen(function* () {
    return callItem({
      id: yield* readName(item.call_id, `${path}.call_id`),
      name: yield* readName(item.name, `${path}.name`),
      arguments: argumentsIn(item.arguments),
    });
  });

const readFunctionOutput = (item: JsonObject, path: string): Read<Item> =>
  Result.gen(function* () {
    const call = yield* readName(item.call_id, `${path}.call_id`);
    return { role: "tool", call, text: yield* readToolResult(item.output, `${path}.output`) };
  });

/** The item of an earlier answer that an id names; undefined if there is none. */
const recalledItem = ({ answer, part }: ItemId, recall: Recall): Item | undefined => {
  if (part === "reasoning") return null;
  const reply = recall(answer)?.reply;
  if (reply === undefined) return undefined;
  if (part === "message") return { role: "assistant", text: reply.text, calls: [] };
  const call = reply.calls[part];
  return call === undefined ? undefined : callItem(call);
};

const readReference = (item: JsonObject, path: string, recall: Recall): Read<Item> =>
  Result.gen(function* () {
    const id = yield* readName(item.id, `${path}.id`);
    const parsed = parseItemId(id);
    const recalled = parsed === null ? undefined : recalledItem(parsed, recall);
    if (recalled !== undefined) return recalled;
    return yield* refuse(path, `the item ${quoted(id)} is of no earlier answer; send the item itself (store: false)`);
  });

const itemReader =
  (recall: Recall): Reader<Item> =>
  (value, path) =>
    Result.gen(function* () {
      const item = yield* readObject(value, path);
      if (isAbsent(item.type) || item.type === "message") return yield* readMessage(item, path);
      if (item.type === "function_call") return yield* readFunctionCall(item, path);
      if (item.type === "function_call_output") return yield* readFunctionOutput(item, path);
      if (item.type === "item_reference") return yield* readReference(item, path, recall);
      if (item.type === "reasoning") return null;
      if (typeof item.type !== "string") return yield* mustBe(`${path}.type`, "a text");
      return yield* refuse(path, `an item of type ${quoted(item.type)} cannot be read`);
    });

/** Tool calls belong to the reply right before them; without one they are a reply of their own. */
const messagesFrom = (items: readonly Item[]): readonly Message[] => {
  const messages: Message[] = [];
  let calls: ToolCall[] | null = null;
  for (const item of items) {
    if (item === null) continue;
    if (item.role === "call") {
      if (calls === null) {
        calls = [];
        messages.push({ role: "assistant", text: "", calls });
      }
      calls.push(item.call);
    } else if (item.role === "assistant") {
      calls = [];
      messages.push({ ...item, calls });
    } else {
      calls = null;
      messages.push(item);
    }
  }
  return messages;
};

const readInput = (input: unknown, recall: Recall): Read<readonly Message[]> => {
  if (isAbsent(input)) return Result.succeed([]);
  if (typeof input === "string") return Result.succeed([{ role: "user", text: input }]);
  return Result.map(readEach(input, "input", itemReader(recall)), messagesFrom);
};

const readFields = (body: JsonObject, recall: Recall) =>
  Result.gen(function* () {
    const instructions = yield* readOr(body.instructions, "instructions", readString, "");
    const input = yield* readInput(body.input, recall);
    const previous = yield* readOr(body.previous_response_id, "previous_response_id", readName, null);
    const hasInstructions = instructions !== "";
    const leading: readonly Message[] = hasInstructions ? [{ role: "system", text: instructions }] : [];
    return {
      messages: [...leading, ...input],
      hasInstructions,
      previous: previous?.startsWith(responsePrefix) === true ? previous.slice(responsePrefix.length) : previous,
    };
  });

const readersWith = (recall: Recall): CallReaders => ({
  unserved: {
    "text.format": "ask for text and parse it",
    background: "wait for the answer",
    conversation: "send the messages, or previous_response_id",
    prompt: "send instructions and input",
  },
  messagesField: "input",
  fields: (body) => readFields(body, recall),
  tool: (value, path) =>
    Result.gen(function* () {
      const tool = yield* readObject(value, path);
      return yield* tool.type === "function" ? readFunction(tool, path, "parameters") : refuseHosted(tool.type, path);
    }),
  toolChoice: readOpenAiChoice,
});

export const responses: Dialect = {
  name: "responses",
  path: "/v1/responses",
  keyOf,
  read: (body, recall = () => null) => readCall(body, readersWith(recall)),
  answer: responseAnswer,
  stream: responseStream,
  error: openAiError,
  keepAlive: emptyComment,
  streamError: responseStreamError,
};
