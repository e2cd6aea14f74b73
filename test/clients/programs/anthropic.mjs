/** The package @anthropic-ai/sdk: `messages` is a loop over messages, `runner` its own loop, which holds the conversation in a thread. */
import Anthropic from "@anthropic-ai/sdk";
import { serve } from "./serve.mjs";
import { instructions, runTool, tools } from "./tools.mjs";

const [variant] = process.argv.slice(2);
const clientOf = ({ apiKey, url }) => new Anthropic({ baseURL: url, apiKey, authToken: null });

const textOf = ({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

const usageOf = ({ usage }) => ({ prompt: usage.input_tokens, reply: usage.output_tokens });

const create = (order, body, signal) => {
  const { messages } = clientOf(order);
  return order.isStreamed ? messages.stream(body, { signal }).finalMessage() : messages.create(body, { signal });
};

const loopEpisode = async (order, signal) => {
  const calls = [];
  const usages = [];
  const texts = [];
  const messages = [];
  const offered = tools.map(({ description, name, parameters }) => ({ name, description, input_schema: parameters }));
  for (const question of order.questions) {
    messages.push({ role: "user", content: question });
    for (let isDone = false; !isDone; ) {
      const body = { model: "policy", max_tokens: 1_000, system: instructions, messages, tools: offered };
      const message = await create(order, body, signal);
      usages.push(usageOf(message));
      messages.push({ role: "assistant", content: message.content });
      const results = message.content.flatMap((block) => {
        if (block.type !== "tool_use") return [];
        return [{ type: "tool_result", tool_use_id: block.id, content: runTool(calls, block.name, block.input) }];
      });
      if (results.length > 0) messages.push({ role: "user", content: results });
      else texts.push(textOf(message));
      isDone = results.length === 0;
    }
  }
  return { texts, calls, usages };
};

const runnerEpisode = async (order, signal) => {
  const calls = [];
  const usages = [];
  const texts = [];
  const runnable = tools.map(({ description, name, parameters }) => ({
    ...{ name, description, input_schema: parameters },
    parse: (values) => values,
    run: (values) => runTool(calls, name, values),
  }));
  let messages = [];
  for (const content of order.questions) {
    const runner = clientOf(order).beta.messages.toolRunner(
      {
        model: "policy",
        max_tokens: 1_000,
        system: instructions,
        messages: [...messages, { role: "user", content }],
        tools: runnable,
        stream: order.isStreamed,
      },
      { signal },
    );
    let last;
    for await (const turn of runner) {
      last = order.isStreamed ? await turn.finalMessage() : turn;
      usages.push(usageOf(last));
    }
    texts.push(textOf(last));
    messages = runner.params.messages;
    if (messages.at(-1).role !== "assistant") messages = [...messages, { role: "assistant", content: last.content }];
  }
  return { texts, calls, usages };
};

const ask = async (order, signal) => {
  const { maxTokens = 1_000, stop } = order;
  const body = {
    model: "policy",
    max_tokens: maxTokens,
    messages: [{ role: "user", content: order.questions[0] }],
    ...(stop === undefined ? {} : { stop_sequences: stop }),
  };
  const message = await create(order, body, signal);
  return { text: textOf(message), finish: message.stop_reason };
};

await serve({ episode: variant === "runner" ? runnerEpisode : loopEpisode, ask });
