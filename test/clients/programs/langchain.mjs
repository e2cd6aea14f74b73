/** LangChain's ChatOpenAI in a loop over messages, by `chat` or `responses`. */
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { ChatOpenAI } from "@langchain/openai";
import { serve } from "./serve.mjs";
import { instructions, runTool, tools } from "./tools.mjs";

const [variant] = process.argv.slice(2);

const modelOf = ({ apiKey, isStreamed, maxTokens, url }) =>
  new ChatOpenAI({
    model: "policy",
    apiKey,
    useResponsesApi: variant === "responses",
    streamUsage: isStreamed,
    configuration: { baseURL: `${url}/v1` },
    ...(maxTokens === undefined ? {} : { maxTokens }),
  });

const reply = async (model, { isStreamed }, messages, options) => {
  if (!isStreamed) return model.invoke(messages, options);
  let whole = new AIMessageChunk("");
  for await (const chunk of await model.stream(messages, options)) whole = concat(whole, chunk);
  return whole;
};

const episode = async (order, signal) => {
  const model = modelOf(order).bindTools(
    tools.map(({ description, name, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
  );
  const calls = [];
  const usages = [];
  const texts = [];
  const messages = [new SystemMessage(instructions)];
  for (const question of order.questions) {
    messages.push(new HumanMessage(question));
    for (let isDone = false; !isDone; ) {
      const message = await reply(model, order, messages, { signal });
      const { input_tokens, output_tokens } = message.usage_metadata;
      usages.push({ prompt: input_tokens, reply: output_tokens });
      messages.push(message);
      for (const { args, id, name } of message.tool_calls) {
        messages.push(new ToolMessage({ tool_call_id: id, content: runTool(calls, name, args) }));
      }
      isDone = message.tool_calls.length === 0;
      if (isDone) texts.push(message.text);
    }
  }
  return { texts, calls, usages };
};

const ask = async (order, signal) => {
  const { stop } = order;
  const options = { signal, ...(stop === undefined ? {} : { stop }) };
  const message = await reply(modelOf(order), order, [new HumanMessage(order.questions[0])], options);
  const { finish_reason, incomplete_details, status } = message.response_metadata;
  return { text: message.text, finish: finish_reason ?? incomplete_details?.reason ?? status };
};

await serve({ episode, ask });
