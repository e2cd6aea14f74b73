/** OpenAI's chat completions, which most clients of language models speak. */
import { Result } from "effect";
import type { Message, Tool, ToolCall } from "../../domain/Conversation.ts";
import { argumentsIn, argumentsText } from "../../support/text/callArguments.ts";
import { readPrompt, readReplyText, readToolResult } from "./content.ts";
import type { Dialect, ModelAnswer, ModelCall } from "./Dialect.ts";
import { isAbsent, mustBe, type Reader, readEach, readName, readObject, readOr, refuse } from "./fields.ts";
import { type CallReaders, readCall } from "./readCall.ts";
import { readFunction, readOpenAiChoice, refuseHosted } from "./tools.ts";
import { emptyComment, keyOf, openAiError, serverSentEvent } from "./wire.ts";

const readToolCall: Reader<ToolCall> = (value, path) =>
  Result.gen(function* () {
    const call = yield* readObject(value, path);
    const called = yield* readObject(call.function, `${path}.function`);
    return {
      id: yield* readName(call.id, `${path}.id`),
      name: yield* readName(called.name, `${path}.function.name`),
      arguments: argumentsIn(called.arguments),
    };
  });

const readMessage: Reader<Message> = (value, path) =>
  Result.gen(function* () {
    const message = yield* readObject(value, path);
    const { content, role } = message;
    const contentPath = `${path}.content`;
    if (role === "system" || role === "developer") {
      return { role: "system", text: yield* readPrompt(content, contentPath) };
    }
    if (role === "user") return { role, text: yield* readPrompt(content, contentPath) };
    if (role === "tool") {
      const call = yield* readName(message.tool_call_id, `${path}.tool_call_id`);
      return { role, call, text: yield* readToolResult(content, contentPath) };
    }
    if (role !== "assistant") return yield* mustBe(`${path}.role`, "system, developer, user, assistant or tool");
    if (!isAbsent(message.function_call)) yield* refuse(`${path}.function_call`, "is not served; send tool_calls");
    const readCalls: Reader<readonly ToolCall[]> = (calls, at) => readEach(calls, at, readToolCall);
    const text = yield* readReplyText(content, contentPath);
    return { role, text, calls: yield* readOr(message.tool_calls, `${path}.tool_calls`, readCalls, []) };
  });

const readTool: Reader<Tool> = (value, path) =>
  Result.gen(function* () {
    const tool = yield* readObject(value, path);
    if (tool.type !== "function") return yield* refuseHosted(tool.type, path);
    const inner = `${path}.function`;
    return yield* readFunction(yield* readObject(tool.function, inner), inner, "parameters");
  });

/** Reads the messages of a conversation. */
export const readMessages: Reader<readonly Message[]> = (value, path) => readEach(value, path, readMessage);

/** Reads the tools that a conversation offers; none where they are absent. */
export const readTools: Reader<readonly Tool[]> = (value, path) =>
  readOr(value, path, (tools, at) => readEach(tools, at, readTool), []);

const readers: CallReaders = {
  unserved: {
    functions: "send tools",
    response_format: "ask for text and parse it",
    web_search_options: "send functions that the client runs",
    audio: "ask for text",
  },
  messagesField: "messages",
  fields: (body) => Result.map(readMessages(body.messages, "messages"), (messages) => ({ messages })),
  tool: readTool,
  toolChoice: readOpenAiChoice,
};

const usageOf = ({ usage: { prompt, reply } }: ModelAnswer) => ({
  prompt_tokens: prompt,
  completion_tokens: reply,
  total_tokens: prompt + reply,
});

/** The content is null for a reply that is nothing but tool calls. */
const contentOf = ({ calls, text }: ModelAnswer): string | null => (text === "" && calls.length > 0 ? null : text);

const toolCall = (call: ToolCall) => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: argumentsText(call.arguments) },
});

const answer = (reply: ModelAnswer, { model }: ModelCall): unknown => {
  const { calls, created, finish, id, reasoning } = reply;
  const message = {
    role: "assistant",
    content: contentOf(reply),
    refusal: null,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
  };
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: usageOf(reply),
  };
};

/** The deltas of a stream. A tool call comes in two: its name, and then its arguments. */
const deltasOf = (reply: ModelAnswer): readonly object[] => {
  const { calls, reasoning, text } = reply;
  return [
    { role: "assistant", content: contentOf(reply) === null ? null : "", refusal: null },
    ...(reasoning === null ? [] : [{ reasoning_content: reasoning }]),
    ...(text === "" ? [] : [{ content: text }]),
    ...calls
      .map(toolCall)
      .flatMap(({ function: { arguments: text, name }, id, type }, index) => [
        { tool_calls: [{ index, id, type, function: { name, arguments: "" } }] },
        { tool_calls: [{ index, function: { arguments: text } }] },
      ]),
  ];
};

const stream = (reply: ModelAnswer, { isUsageStreamed, model }: ModelCall): string => {
  const { created, finish, id } = reply;
  const chunk = (choices: readonly object[], usage: object | null): string => {
    const head = { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created, model };
    return serverSentEvent({ ...head, choices, ...(isUsageStreamed ? { usage } : {}) });
  };
  const choice = (delta: object, reason: string | null): string =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }], null);
  const chunks = [...deltasOf(reply).map((delta) => choice(delta, null)), choice({}, finish)];
  if (isUsageStreamed) chunks.push(chunk([], usageOf(reply)));
  return `${chunks.join("")}data: [DONE]\n\n`;
};

export const chat: Dialect = {
  name: "chat",
  path: "/v1/chat/completions",
  keyOf,
  read: (body) => readCall(body, readers),
  answer,
  stream,
  error: openAiError,
  keepAlive: emptyComment,
  streamError: (problem) => serverSentEvent(openAiError(problem)),
};
