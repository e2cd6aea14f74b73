/** Anthropic's messages. The system text stands beside them, and tool results stand in messages of the user. */
import { Result } from "effect";
import type { AssistantMessage, Message, ToolCall, ToolChoice } from "../../domain/Conversation.ts";
import { isJsonObject, type JsonObject } from "../../support/json.ts";
import { readPart, readPrompt, readReplyText, readToolResult } from "./content.ts";
import type { Dialect, Recall } from "./Dialect.ts";
import { isAbsent, mustBe, type Read, type Reader, readEach, readName, readObject, readOr, refuse } from "./fields.ts";
import { messageAnswer, messageError, messagePrefix, messageStream } from "./messagesAnswer.ts";
import { type CallReaders, readCall } from "./readCall.ts";
import { readFunction, refuseHosted } from "./tools.ts";
import { keyOf, serverSentEvent } from "./wire.ts";

const readToolUse = (block: JsonObject, path: string): Read<ToolCall> =>
  Result.gen(function* () {
    return {
      id: yield* readName(block.id, `${path}.id`),
      name: yield* readName(block.name, `${path}.name`),
      arguments: block.input === undefined ? {} : block.input,
    };
  });

const readReplyBlock: Reader<ToolCall | string | null> = (block, path) =>
  isJsonObject(block) && block.type === "tool_use" ? readToolUse(block, path) : readPart(block, path);

const readReply = (content: unknown, path: string): Read<AssistantMessage> =>
  Result.gen(function* () {
    if (!Array.isArray(content)) return { role: "assistant", text: yield* readReplyText(content, path), calls: [] };
    const blocks = yield* readEach(content, path, readReplyBlock);
    const texts = blocks.filter((block) => typeof block === "string");
    const calls = blocks.filter((block) => typeof block === "object" && block !== null);
    return { role: "assistant", text: texts.join(""), calls };
  });

const readUserBlock: Reader<Message | string | null> = (block, path) =>
  Result.gen(function* () {
    if (!isJsonObject(block) || block.type !== "tool_result") return yield* readPart(block, path);
    const call = yield* readName(block.tool_use_id, `${path}.tool_use_id`);
    return { role: "tool", call, text: yield* readToolResult(block.content, `${path}.content`) };
  });

/** The messages of the user's blocks: one for each tool result, and one for each run of texts between them. */
const readUser = (content: unknown, path: string): Read<readonly Message[]> =>
  Result.gen(function* () {
    if (!Array.isArray(content)) return [{ role: "user", text: yield* readPrompt(content, path) }];
    const messages: Message[] = [];
    for (const block of yield* readEach(content, path, readUserBlock)) {
      const last = messages.at(-1);
      if (block === null) continue;
      if (typeof block !== "string") messages.push(block);
      else if (last?.role !== "user") messages.push({ role: "user", text: block });
      else messages[messages.length - 1] = { role: "user", text: `${last.text}\n${block}` };
    }
    return messages.length === 0 ? [{ role: "user", text: "" }] : messages;
  });

const readMessage: Reader<readonly Message[]> = (value, path) =>
  Result.gen(function* () {
    const { content, role } = yield* readObject(value, path);
    const contentPath = `${path}.content`;
    if (role === "user") return yield* readUser(content, contentPath);
    if (role === "assistant") return [yield* readReply(content, contentPath)];
    if (role === "system") return [{ role, text: yield* readPrompt(content, contentPath) }];
    return yield* mustBe(`${path}.role`, "user, assistant or system");
  });

const readMessages = (body: JsonObject): Read<readonly Message[]> =>
  Result.gen(function* () {
    const system = yield* readOr(body.system, "system", readPrompt, "");
    const messages = (yield* readEach(body.messages, "messages", readMessage)).flat();
    if (messages.at(-1)?.role === "assistant") {
      yield* refuse("messages", "end with a reply, which cannot be continued; end them with a message of the user");
    }
    return system === "" ? messages : [{ role: "system", text: system }, ...messages];
  });

/** Reads the call of a thread. It names the answer that it goes on from, and leaves out the system text and the tools. */
const readContinuation = (thread: JsonObject, body: JsonObject, recall: Recall) =>
  Result.gen(function* () {
    const path = "thread.previous_message_id";
    const id = yield* readName(thread.previous_message_id, path);
    const previous = id.startsWith(messagePrefix) ? id.slice(messagePrefix.length) : id;
    const answer = recall(previous);
    if (answer === null) return yield* refuse(path, "this episode has no such answer; send the whole conversation");
    for (const field of ["system", "tools"]) {
      if (!isAbsent(body[field])) yield* refuse(field, "stands in the call that began the thread; leave it out");
    }
    return { previous, tools: answer.tools };
  });

const readFields = (body: JsonObject, recall: Recall) =>
  Result.gen(function* () {
    const messages = yield* readMessages(body);
    const thread = yield* readOr(body.thread, "thread", readObject, { type: "create" });
    if (thread.type === "continue") return { messages, ...(yield* readContinuation(thread, body, recall)) };
    return thread.type === "create" ? { messages } : yield* mustBe("thread.type", "create or continue");
  });

const readChoice: Reader<ToolChoice> = (value, path) =>
  Result.gen(function* () {
    if (isAbsent(value)) return "auto";
    const { name, type } = yield* readObject(value, path);
    if (type === "auto" || type === "none") return type;
    if (type === "any") return "required";
    if (type === "tool") return { name: yield* readName(name, `${path}.name`) };
    return yield* mustBe(`${path}.type`, "auto, any, tool or none");
  });

const readersWith = (recall: Recall): CallReaders => ({
  unserved: {
    "output_config.format": "ask for text and parse it",
    output_format: "ask for text and parse it",
    mcp_servers: "send functions that the client runs",
  },
  messagesField: "messages",
  fields: (body) => readFields(body, recall),
  tool: (value, path) =>
    Result.gen(function* () {
      const tool = yield* readObject(value, path);
      const isFunction = isAbsent(tool.type) || tool.type === "custom";
      return yield* isFunction ? readFunction(tool, path, "input_schema") : refuseHosted(tool.type, path);
    }),
  toolChoice: readChoice,
});

export const messages: Dialect = {
  name: "messages",
  path: "/v1/messages",
  keyOf,
  read: (body, recall = () => null) => readCall(body, readersWith(recall)),
  answer: messageAnswer,
  stream: messageStream,
  error: messageError,
  keepAlive: serverSentEvent({ type: "ping" }, "ping"),
  streamError: (problem) => serverSentEvent(messageError(problem), "error"),
};
