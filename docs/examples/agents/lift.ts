/**
 * An agent that drives a lift, one floor a call, by plain fetch. The embedded model writes Up and Down, and learns which of them to write.
 *
 * millrace agent check docs/examples/agents/lift.ts; millrace train --agent docs/examples/agents/lift.ts --config-name quickstart
 */
import { defineAgent } from "millrace/agent";

const steps: Readonly<Record<string, number>> = { Up: 1, Down: -1 };

export default defineAgent({
  tasks: (seed: number) => ({ floor: seed % 10, wanted: (seed + 2 + (seed % 7)) % 10 }),
  run: async ({ episode, signal, task }) => {
    const messages: object[] = [{ role: "system", content: "You drive a lift. Answer Up or Down." }];
    let { floor } = task;
    let right = 0;
    for (let call = 0; call < 2; call++) {
      messages.push({ role: "user", content: `floor ${floor} wanted ${task.wanted}` });
      const response = await fetch(`${episode.baseURL}/chat/completions`, {
        method: "POST",
        signal,
        headers: { "content-type": "application/json", authorization: `Bearer ${episode.apiKey}` },
        body: JSON.stringify({ model: "policy", messages }),
      });
      if (!response.ok) throw new Error(await response.text());
      const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
      const { message } = choices[0];
      messages.push(message);
      // The embedded model may name several ways, as in Up || Down.
      const step = steps[message.content.split("||")[0]?.trim() ?? ""] ?? 0;
      if (step === Math.sign(task.wanted - floor)) right++;
      floor += step;
    }
    return { reward: right / 2, success: right === 2 };
  },
});
