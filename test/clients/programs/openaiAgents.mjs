/** OpenAI's Agents SDK, whose runner runs the tools, by `responses` or `chat`. */
import { Agent, OpenAIProvider, Runner, tool, user } from "@openai/agents";
import { serve } from "./serve.mjs";
import { instructions, runTool, tools } from "./tools.mjs";
import { schemas } from "./zodTools.mjs";

const [variant] = process.argv.slice(2);

const runnerOf = ({ apiKey, url }) =>
  new Runner({
    modelProvider: new OpenAIProvider({ apiKey, baseURL: `${url}/v1`, useResponses: variant === "responses" }),
    tracingDisabled: true,
  });

const play = async (agent, { isStreamed, ...order }, input, signal) => {
  const result = await runnerOf(order).run(agent, input, { stream: isStreamed, signal });
  if (isStreamed) {
    for await (const _ of result);
    await result.completed;
  }
  return result;
};

const episode = async (order, signal) => {
  const calls = [];
  const usages = [];
  const texts = [];
  const agent = new Agent({
    name: "Weather",
    instructions,
    model: "policy",
    tools: tools.map(({ description, name }) =>
      tool({ name, description, parameters: schemas[name], execute: (values) => runTool(calls, name, values) }),
    ),
  });
  let history = [];
  for (const question of order.questions) {
    const result = await play(agent, order, [...history, user(question)], signal);
    texts.push(result.finalOutput);
    usages.push(...result.rawResponses.map(({ usage }) => ({ prompt: usage.inputTokens, reply: usage.outputTokens })));
    history = result.history;
  }
  return { texts, calls, usages };
};

const ask = async (order, signal) => {
  const { maxTokens } = order;
  const agent = new Agent({
    name: "Weather",
    model: "policy",
    ...(maxTokens === undefined ? {} : { modelSettings: { maxTokens } }),
  });
  const result = await play(agent, order, order.questions[0], signal);
  return { text: result.finalOutput, finish: null };
};

await serve({ episode, ask });
