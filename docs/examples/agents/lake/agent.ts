/**
 * An agent that plays FrozenLake by plain fetch.
 *
 * millrace agent check docs/examples/agents/lake/agent.ts; millrace train --agent docs/examples/agents/lake/agent.ts --config-name quickstart
 */
import { defineAgent } from "millrace/agent";
import { playLake } from "./lake.ts";

export default defineAgent({
  tasks: (seed: number) => ({ seed }),
  run: ({ episode, signal }) =>
    playLake(episode, async (messages) => {
      const response = await fetch(`${episode.baseURL}/chat/completions`, {
        method: "POST",
        signal,
        headers: { "content-type": "application/json", authorization: `Bearer ${episode.apiKey}` },
        body: JSON.stringify({ model: "policy", messages }),
      });
      const body = (await response.json()) as { choices: [{ message: { content: string } }] };
      if (!response.ok) throw new Error(JSON.stringify(body));
      return body.choices[0].message.content;
    }),
});
