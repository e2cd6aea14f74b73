/** An agent of three calls, of which the last begins a conversation of its own. It earns by the letters of its replies, so that its groups vary. */
import { defineAgent } from "millrace/agent";

interface Message {
  readonly role: string;
  readonly content: string;
}

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);

export default defineAgent({
  tasks: (seed: number) => ({ floor: seed % 10 }),
  run: async ({ episode, signal, task: { floor } }) => {
    const reply = async (messages: readonly Message[]): Promise<Message> => {
      const response = await fetch(`${episode.baseURL}/chat/completions`, {
        method: "POST",
        signal,
        headers: { "content-type": "application/json", authorization: `Bearer ${episode.apiKey}` },
        body: JSON.stringify({ model: "policy", messages }),
      });
      if (!response.ok) throw new Error(await response.text());
      const { choices } = (await response.json()) as { choices: [{ message: Message }] };
      return choices[0].message;
    };
    const opening = { role: "user", content: `floor ${floor}` };
    const first = await reply([opening]);
    const second = await reply([opening, first, { role: "user", content: "next" }]);
    const third = await reply([{ role: "user", content: `summary of ${floor}` }]);
    return { reward: sumOf(first.content + second.content + third.content) % 3 };
  },
});
