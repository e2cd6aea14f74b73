/**
 * The package openai by Responses, in a loop over items. The variant `previous` goes on from the last response's id in place of sending its
 * items back.
 */
import OpenAI from "openai";
import { serve } from "./serve.mjs";
import { instructions, runTool, tools } from "./tools.mjs";

const [variant] = process.argv.slice(2);
const clientOf = ({ apiKey, url }) => new OpenAI({ baseURL: `${url}/v1`, apiKey });
const functions = tools.map((tool) => ({ type: "function", ...tool, strict: true }));

const respond = (client, { isStreamed }, body, signal) =>
  isStreamed ? client.responses.stream(body, { signal }).finalResponse() : client.responses.create(body, { signal });

const episode = async (order, signal) => {
  const client = clientOf(order);
  const calls = [];
  const usages = [];
  const texts = [];
  let input = [];
  let previous;
  for (const question of order.questions) {
    input.push({ role: "user", content: question });
    for (let isDone = false; !isDone; ) {
      const common = { model: "policy", instructions, tools: functions, input };
      const body = previous === undefined ? common : { ...common, previous_response_id: previous };
      const { id, output, output_text, usage } = await respond(client, order, body, signal);
      usages.push({ prompt: usage.input_tokens, reply: usage.output_tokens });
      const asked = output.filter(({ type }) => type === "function_call");
      const results = asked.map(({ arguments: text, call_id, name }) => {
        return { type: "function_call_output", call_id, output: runTool(calls, name, JSON.parse(text)) };
      });
      if (variant === "previous") {
        previous = id;
        input = results;
      } else input = [...input, ...output, ...results];
      isDone = asked.length === 0;
      if (isDone) texts.push(output_text);
    }
  }
  return { texts, calls, usages };
};

const ask = async (order, signal) => {
  const { maxTokens } = order;
  const body = {
    model: "policy",
    input: order.questions[0],
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
  };
  const { incomplete_details, output_text, status } = await respond(clientOf(order), order, body, signal);
  return { text: output_text, finish: incomplete_details?.reason ?? status };
};

await serve({ episode, ask });
