/**
 * Reads messages in OpenAI's form, written with the model's chat template: conversations as episodes to clone, whose targets are the
 * assistant's replies, and prompts for a reply. Messages that cannot be used give a sentence that says why.
 * Invariant: ids spell the chat that the template spells for the same messages.
 */

import { Result } from "effect";
import { concatIds } from "../../domain/Batch.ts";
import type { Episode, Turn } from "../../domain/Episode.ts";
import type { ChatTemplate } from "../../model/tokenizer/ChatTemplate.ts";
import { unsampledReply } from "./Demonstration.ts";

/** A user's words and the reply to them. */
export interface Exchange {
  readonly user: string;
  readonly reply: string;
  /** False where OpenAI's `weight: 0` says that the reply is not trained on. */
  readonly target: boolean;
}

export interface Conversation {
  /** Empty for none. */
  readonly system: string;
  readonly exchanges: readonly Exchange[];
}

/** Tag of these episodes. */
export const tag = "conversations";

type Message = { readonly role: unknown; readonly content: string; readonly weight: unknown };

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The text of a content: a text, or a list of parts that are texts. */
const textOf = (content: unknown): string | null => {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const parts = content.map((part) => (isRecord(part) && part.type === "text" ? part.text : null));
  return parts.every((part) => typeof part === "string") ? parts.join("") : null;
};

const messagesOf = (value: unknown): Result.Result<readonly Message[], string> => {
  if (!Array.isArray(value) || value.length === 0) return Result.fail("expected a list of messages");
  const messages: Message[] = [];
  for (const [index, given] of value.entries()) {
    const message: Readonly<Record<string, unknown>> = isRecord(given) ? given : {};
    const content = textOf(message.content);
    if (content === null) return Result.fail(`message ${index + 1} has no text`);
    messages.push({ role: message.role, content, weight: message.weight ?? 1 });
  }
  return Result.succeed(messages);
};

/** A conversation whose last words are the user's, if `pending` is not null. */
interface Dialogue extends Conversation {
  readonly pending: string | null;
}

/** Takes a first message of the system, then user and assistant in turn. */
const dialogueOf = (value: unknown): Result.Result<Dialogue, string> => {
  const messages = messagesOf(value);
  if (Result.isFailure(messages)) return Result.fail(messages.failure);
  const [first] = messages.success;
  const system = first?.role === "system" || first?.role === "developer" ? first.content : "";
  const from = first?.role === "system" || first?.role === "developer" ? 1 : 0;
  const exchanges: Exchange[] = [];
  let pending: string | null = null;
  for (const [offset, { content, role, weight }] of messages.success.slice(from).entries()) {
    const expected = pending === null ? "user" : "assistant";
    if (role !== expected) {
      return Result.fail(`message ${from + offset + 1} is of ${JSON.stringify(role ?? null)}, expected ${expected}`);
    }
    if (pending === null) pending = content;
    else {
      exchanges.push({ user: pending, reply: content, target: weight !== 0 });
      pending = null;
    }
  }
  return Result.succeed({ system, exchanges, pending });
};

/** Reads a conversation to clone. Messages after the last reply are left out. */
export const conversationOf = (value: unknown): Result.Result<Conversation, string> =>
  Result.flatMap(dialogueOf(value), ({ exchanges, system }) =>
    exchanges.some(({ target }) => target)
      ? Result.succeed({ system, exchanges })
      : Result.fail("no reply of the assistant to clone"),
  );

/** Ids of an exchange: up to its reply, and the reply with the token that ends it. */
const exchangeIds = (chat: ChatTemplate, system: string, { reply, user }: Exchange, isFirst: boolean) => {
  const written = chat.encodeReply(reply);
  const { replyPrefix } = written;
  const prompt = isFirst ? chat.opening(system, user, replyPrefix) : chat.bridge(user, replyPrefix);
  return { prompt, reply: concatIds([written.ids, Int32Array.of(chat.endId)]) };
};

/** Ids of messages that end with the user's, up to the next reply, which begins with `replyPrefix`. */
export const promptIds = (chat: ChatTemplate, value: unknown, replyPrefix: string): Result.Result<Int32Array, string> =>
  Result.flatMap(dialogueOf(value), ({ exchanges, pending, system }) => {
    if (pending === null) return Result.fail("the last message is not the user's");
    const before = exchanges.flatMap((exchange, index) => {
      const { prompt, reply } = exchangeIds(chat, system, exchange, index === 0);
      return [prompt, reply];
    });
    const last =
      exchanges.length === 0 ? chat.opening(system, pending, replyPrefix) : chat.bridge(pending, replyPrefix);
    return Result.succeed(concatIds([...before, last]));
  });

export interface Encoder {
  readonly chat: ChatTemplate;
  /** Most ids of an episode. */
  readonly limit: number;
}

export interface Encoded {
  /** Null where not even the first reply fits. */
  readonly episode: Episode | null;
  /** Exchanges that do not fit. */
  readonly cut: number;
}

/** The episode of a conversation, number `seed` of its file, cut after the last exchange that fits whole. */
export const encode = ({ chat, limit }: Encoder, conversation: Conversation, seed: number): Encoded => {
  const { exchanges, system } = conversation;
  const turns: Turn[] = [];
  let before: Int32Array = new Int32Array(0);
  let length = 0;
  let encoded = 0;
  for (const exchange of exchanges) {
    const { reply, target, user } = exchange;
    const { prompt, reply: ids } = exchangeIds(chat, system, exchange, encoded === 0);
    length += prompt.length + ids.length;
    if (length > limit) break;
    encoded++;
    const shown = concatIds([before, prompt]);
    before = target ? new Int32Array(0) : concatIds([shown, ids]);
    if (!target) continue;
    const nothing = { actions: [], executed: 0, reward: 0, penalty: 0, info: {} };
    turns.push({ prompt: shown, sampled: unsampledReply(ids), state: user, reply, parsed: true, ...nothing });
  }
  const id = { group: seed, member: 0 };
  const outcome = { _tag: "Done", success: true } as const;
  const episode = turns.length === 0 ? null : { id, tag, seed, sequences: [{ turns }], outcome };
  return { episode, cut: exchanges.length - encoded };
};
