/** The package openai by chat completions; its own loop runs the tools. */
import OpenAI from "openai";
import { serve } from "./serve.mjs";
import { instructions, runTool, tools } from "./tools.mjs";

const clientOf = ({ apiKey, url }) => new OpenAI({ baseURL: `${url}/v1`, apiKey });

/** Sums what calls report of their usage. */
const usageOf = ({ prompt_tokens, completion_tokens }) => ({ prompt: prompt_tokens, reply: completion_tokens });

const episode = async (order, signal) => {
  const calls = [];
  const usages = [];
  const texts = [];
  let messages = [{ role: "system", content: instructions }];
  const runnable = tools.map(({ description, name, parameters }) => ({
    type: "function",
    function: { name, description, parameters, parse: JSON.parse, function: (values) => runTool(calls, name, values) },
  }));
  for (const question of order.questions) {
    const runner = clientOf(order).chat.completions.runTools(
      {
        model: "policy",
        messages: [...messages, { role: "user", content: question }],
        tools: runnable,
        ...(order.isStreamed ? { stream: true, stream_options: { include_usage: true } } : {}),
      },
      { signal },
    );
    texts.push(await runner.finalContent());
    usages.push(...runner.allChatCompletions().map(({ usage }) => usageOf(usage)));
    messages = runner.messages;
  }
  return { texts, calls, usages };
};

const ask = async (order, signal) => {
  const { maxTokens, stop } = order;
  const body = {
    model: "policy",
    messages: [{ role: "user", content: order.questions[0] }],
    ...(stop === undefined ? {} : { stop }),
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
  };
  const client = clientOf(order);
  const completion = order.isStreamed
    ? await client.chat.completions.stream(body, { signal }).finalChatCompletion()
    : await client.chat.completions.create(body, { signal });
  const [{ finish_reason, message }] = completion.choices;
  return { text: message.content, finish: finish_reason };
};

await serve({ episode, ask });
