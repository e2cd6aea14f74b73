/** A run's model as agents call it, by its chat template. */
import { Effect } from "effect";
import { concatIds } from "../../domain/Batch.ts";
import type { Message } from "../../domain/Conversation.ts";
import type { Sampled } from "../../domain/Episode.ts";
import type { Model } from "../../model/Model.ts";
import type { AgentModel } from "./AgentModel.ts";

const thought = /^<think>([\s\S]*?)<\/think>\s*/;

export const agentModel = ({ chat, tokenizer }: Model, prefix: string): AgentModel => {
  const textOf = ({ ids }: Sampled): string => {
    const last = ids.at(-1);
    const spoken = last !== undefined && chat.endIds.includes(last) ? ids.subarray(0, -1) : ids;
    return prefix + tokenizer.decode(spoken);
  };
  const userText = (messages: readonly Message[]): Effect.Effect<string, string> => {
    const [only] = messages;
    return messages.length === 1 && only?.role === "user"
      ? Effect.succeed(only.text)
      : Effect.fail("this template takes one user's message at a time");
  };
  return {
    textOf,
    opening: ({ messages }) => {
      const [first] = messages;
      const system = first?.role === "system" ? first.text : "";
      return Effect.map(userText(messages.slice(first?.role === "system" ? 1 : 0)), (user) =>
        chat.opening(system, user, prefix),
      );
    },
    bridge: (added) => Effect.map(userText(added), (user) => chat.bridge(user, prefix)),
    afterReply: (sampled, bridge) =>
      sampled.ids.at(-1) === chat.endId ? bridge : concatIds([Int32Array.of(chat.endId), bridge]),
    read: (sampled) => {
      const text = textOf(sampled);
      const reasoning = thought.exec(text)?.[1] ?? null;
      return { text: text.replace(thought, ""), reasoning, calls: [], problems: [] };
    },
  };
};
