/**
 * FrozenLake as an agent plays it: it shows what a run without an agent shows and reads replies alike, so that in sync mode it draws the same ids.
 * The agents beside this file differ in the client that asks the model.
 */
import type { AgentEpisode, AgentOutcome } from "millrace/agent";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

const directions = ["Up", "Down", "Left", "Right"];

/** Legal actions of a reply, and whether it names none or another. */
const readReply = (reply: string, most: number) => {
  const named = reply.split("||").map((word) => word.trim());
  const legal = named.map((word) => directions.find((name) => name.toLowerCase() === word.toLowerCase()));
  return { actions: legal.filter((name) => name !== undefined).slice(0, most), isWrong: legal.includes(undefined) };
};

/** Plays an episode; `ask` gives the model's reply to a chat. */
export const playLake = async (
  episode: AgentEpisode,
  ask: (messages: readonly ChatMessage[]) => Promise<string>,
): Promise<AgentOutcome> => {
  const lake = await episode.environment("FrozenLake");
  const messages: ChatMessage[] = [{ role: "system", content: "frozen_lake" }];
  const turns: number[] = [];
  let [text, left, success] = [lake.observation.compact, 10, false];
  for (let turn = 0; turn < 5; turn++) {
    messages.push({ role: "user", content: `${text}\n${left}` });
    const content = await ask(messages);
    messages.push({ role: "assistant", content });
    const { actions, isWrong } = readReply(content, Math.min(5, left));
    const result = actions.length === 0 ? null : await lake.step(actions);
    turns.push((result?.reward ?? 0) - (isWrong ? 0.1 : 0));
    if (result === null) continue;
    [text, left, success] = [result.compact, left - result.executed, result.success];
    if (result.done || left <= 0) break;
  }
  return { turns, success };
};
