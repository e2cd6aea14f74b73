/**
 * The agent with the AI SDK: `npm i ai @ai-sdk/openai` beside this file.
 *
 * millrace agent check ./agent.ts --config-name ./train.yaml; millrace train --config-name ./train.yaml
 */
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, type ToolSet, tool } from "ai";
import { defineAgent } from "millrace/agent";
import { drawTask, mostCalls, rewardOf, type Task, toolsOf } from "./facts.ts";

/** The task's tools as the AI SDK takes them. */
const toolSet = (task: Task): ToolSet =>
  Object.fromEntries(
    toolsOf(task).map(({ description, name, parameters, run }) => [
      name,
      tool({
        description,
        inputSchema: jsonSchema<Readonly<Record<string, unknown>>>({
          ...parameters,
          required: [...parameters.required],
        }),
        execute: async (input) => run(input),
      }),
    ]),
  );

export default defineAgent<Task>({
  tasks: (seed, split) => drawTask(seed, split),
  run: async ({ episode, signal, task }) => {
    const { steps, text } = await generateText({
      model: createOpenAI({ baseURL: episode.baseURL, apiKey: episode.apiKey }).chat("policy"),
      tools: toolSet(task),
      stopWhen: stepCountIs(mostCalls),
      prompt: task.question,
      abortSignal: signal,
      maxRetries: 0,
    });
    return {
      reward: rewardOf(task, text),
      metrics: { tool_calls: steps.flatMap(({ toolCalls }) => toolCalls).length },
    };
  },
});
