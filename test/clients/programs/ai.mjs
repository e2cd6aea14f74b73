/** The AI SDK, whose own loop runs the tools, by one of its providers: `responses`, `chat` or `messages`. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { serve } from "./serve.mjs";
import { instructions, runTool, tools } from "./tools.mjs";
import { schemas } from "./zodTools.mjs";

const [variant] = process.argv.slice(2);

const modelOf = ({ apiKey, url }) => {
  const settings = { baseURL: `${url}/v1`, apiKey };
  if (variant === "messages") return createAnthropic(settings)("policy");
  const openai = createOpenAI(settings);
  return variant === "chat" ? openai.chat("policy") : openai("policy");
};

/** The result of a stream is read to its end; its fields are promises. */
const generate = async ({ isStreamed }, settings) => {
  if (!isStreamed) return generateText(settings);
  let failure;
  const result = streamText({
    ...settings,
    onError: ({ error }) => {
      failure = error;
    },
  });
  let isAborted = false;
  for await (const part of result.fullStream) isAborted ||= part.type === "abort";
  if (failure !== undefined) throw failure;
  if (isAborted) return { text: "", finishReason: "abort" };
  return {
    text: await result.text,
    finishReason: await result.finishReason,
    steps: await result.steps,
    response: await result.response,
    responseMessages: await result.responseMessages,
  };
};

const episode = async (order, signal) => {
  const calls = [];
  const usages = [];
  const texts = [];
  const runnable = Object.fromEntries(
    tools.map(({ description, name }) => [
      name,
      tool({ description, inputSchema: schemas[name], execute: async (values) => runTool(calls, name, values) }),
    ]),
  );
  let messages = [];
  for (const question of order.questions) {
    messages = [...messages, { role: "user", content: question }];
    const result = await generate(order, {
      model: modelOf(order),
      instructions,
      messages,
      tools: runnable,
      stopWhen: isStepCount(10),
      abortSignal: signal,
    });
    texts.push(result.text);
    usages.push(...result.steps.map(({ usage }) => ({ prompt: usage.inputTokens, reply: usage.outputTokens })));
    messages = [...messages, ...(result.responseMessages ?? result.response.messages)];
  }
  return { texts, calls, usages };
};

const ask = async (order, signal) => {
  const { maxTokens, stop } = order;
  const { finishReason, text } = await generate(order, {
    model: modelOf(order),
    prompt: order.questions[0],
    abortSignal: signal,
    ...(stop === undefined ? {} : { stopSequences: stop }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
  });
  return { text, finish: finishReason };
};

await serve({ episode, ask });
