/** A model of agents' tests without a tokenizer: messages as text, one id a character. A reply that begins with "!" calls the tool of that name. */
import { Effect } from "effect";
import type { AgentModel } from "../../../src/agents/session/AgentModel.ts";
import { concatIds } from "../../../src/domain/Batch.ts";
import type { Message } from "../../../src/domain/Conversation.ts";
import { chat, decode, encode } from "../../rollout/fakes.ts";

const lines = (messages: readonly Message[]): string => messages.map(({ role, text }) => `[${role}]${text}`).join("");

/** The text that stands before a reply to these messages. */
export const promptText = (messages: readonly Message[]): string => `${lines(messages)}[A]`;

export const textModel: AgentModel = {
  opening: ({ messages }) => Effect.succeed(encode(promptText(messages))),
  bridge: (added) => Effect.succeed(encode(promptText(added))),
  afterReply: ({ ids }, bridge) =>
    ids.at(-1) === chat.endId ? bridge : concatIds([Int32Array.of(chat.endId), bridge]),
  toolsProblem: undefined,
  rewriting: () => undefined,
  textOf: ({ ids }) => decode(ids).replace("<end>", ""),
  read: ({ ids }, tools, stops) => {
    const text = decode(ids).replace("<end>", "");
    const calls = text.startsWith("!") && tools.length > 0 ? [{ name: text.slice(1), arguments: {} }] : [];
    return {
      text: calls.length > 0 ? "" : text,
      reasoning: null,
      calls,
      problems: [],
      stop: stops.find((stop) => text.endsWith(stop)) ?? null,
    };
  },
};
