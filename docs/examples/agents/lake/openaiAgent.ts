/**
 * The same agent with the `openai` package: `npm i openai` beside this file.
 *
 * millrace train --agent ./openaiAgent.ts --config-name quickstart
 */
import { defineAgent } from "millrace/agent";
import OpenAI from "openai";
import { playLake } from "./lake.ts";

export default defineAgent({
  tasks: (seed: number) => ({ seed }),
  run: ({ episode, signal }) => {
    const client = new OpenAI({ baseURL: episode.baseURL, apiKey: episode.apiKey });
    return playLake(episode, async (messages) => {
      const completion = await client.chat.completions.create({ model: "policy", messages: [...messages] }, { signal });
      return completion.choices[0]?.message.content ?? "";
    });
  },
});
