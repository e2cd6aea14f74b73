/**
 * The same agent by plain fetch, without a client package.
 *
 * millrace train --agent ./plainAgent.ts --config-name ./train.yaml
 */
import { defineAgent } from "millrace/agent";
import { drawTask, mostCalls, rewardOf, type Task, toolsOf } from "./facts.ts";

interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Reply {
  readonly role: "assistant";
  readonly content: string | null;
  readonly tool_calls?: readonly ToolCall[];
}

export default defineAgent<Task>({
  tasks: (seed, split) => drawTask(seed, split),
  run: async ({ episode, signal, task }) => {
    const tools = toolsOf(task);
    const offered = tools.map(({ description, name, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    }));
    const messages: object[] = [{ role: "user", content: task.question }];
    let text = "";
    let toolCalls = 0;
    for (let step = 0; step < mostCalls; step++) {
      const response = await fetch(`${episode.baseURL}/chat/completions`, {
        method: "POST",
        signal,
        headers: { "content-type": "application/json", authorization: `Bearer ${episode.apiKey}` },
        body: JSON.stringify({ model: "policy", messages, tools: offered }),
      });
      if (!response.ok) throw new Error(await response.text());
      const { choices } = (await response.json()) as { choices: [{ message: Reply }] };
      const { message } = choices[0];
      text = message.content ?? "";
      const calls = message.tool_calls ?? [];
      if (calls.length === 0) break;
      messages.push(message);
      for (const { function: called, id } of calls) {
        toolCalls++;
        const result = tools.find(({ name }) => name === called.name)?.run(JSON.parse(called.arguments)) ?? "no";
        messages.push({ role: "tool", tool_call_id: id, content: result });
      }
    }
    return { reward: rewardOf(task, text), metrics: { tool_calls: toolCalls } };
  },
});
