/**
 * Conversations with tools as episodes to clone. The conversation template that serves agents writes them, so that a clone learns the ids that an
 * agent's calls show and sample. A message that cannot be used gives a sentence that begins with its place.
 */
import { Effect, Result } from "effect";
import { concatIds } from "../../domain/Batch.ts";
import { type AssistantMessage, type Message, type Tool, transcript } from "../../domain/Conversation.ts";
import type { Turn } from "../../domain/Episode.ts";
import type { ConversationTemplate } from "../../model/tokenizer/conversation/ConversationTemplate.ts";
import { type Encoded, tag } from "./Conversation.ts";
import { unsampledReply } from "./Demonstration.ts";

/** A conversation with tools to clone. */
export interface ToolConversation {
  readonly tools: readonly Tool[];
  readonly messages: readonly Message[];
  /** Indices of the replies that are trained on. */
  readonly targets: ReadonlySet<number>;
}

const isReply = (message: Message | undefined): message is AssistantMessage => message?.role === "assistant";

/** The reply that a result at `index` answers: the one before it, other results between them. */
const answeredReply = (messages: readonly Message[], index: number): Message | undefined =>
  messages.slice(0, index).findLast(({ role }) => role !== "tool");

/** Says what is wrong with the message at `index`; undefined where it can be cloned. */
const problemOf = ({ messages, tools }: ToolConversation, index: number): string | undefined => {
  const message = messages[index] as Message;
  const before = answeredReply(messages, index);
  const calls = isReply(before) ? before.calls : [];
  if (message.role === "tool") {
    if (calls.some(({ id }) => id === message.call)) return undefined;
    return `.tool_call_id: the reply before it has no call ${JSON.stringify(message.call)}`;
  }
  const results = messages.slice(messages.lastIndexOf(before as Message, index), index);
  const open = calls.find(({ id }) => !results.some((result) => result.role === "tool" && result.call === id));
  if (open !== undefined) return `: the call ${JSON.stringify(open.id)} before it has no result`;
  if (message.role !== "assistant") return undefined;
  if (isReply(messages[index - 1])) return ": a reply stands right behind another";
  if (!messages.slice(0, index).some(({ role }) => role === "user"))
    return ": a reply stands before any user's message";
  const unknown = message.calls.find(({ name }) => !tools.some((tool) => tool.name === name));
  return unknown === undefined ? undefined : `.tool_calls: tools has none named ${JSON.stringify(unknown.name)}`;
};

/** Checks a conversation, whose messages errors call `field`. Messages after the last reply are left out. */
export const checkToolConversation = (
  conversation: ToolConversation,
  field: string,
): Result.Result<ToolConversation, string> => {
  const messages = conversation.messages.slice(0, conversation.messages.findLastIndex(isReply) + 1);
  for (const index of messages.keys()) {
    const problem = problemOf({ ...conversation, messages }, index);
    if (problem !== undefined) return Result.fail(`${field}[${index}]${problem}`);
  }
  return messages.some((_, index) => conversation.targets.has(index))
    ? Result.succeed({ ...conversation, messages })
    : Result.fail(`${field}: no reply of the assistant to clone`);
};

export interface ToolEncoder {
  readonly template: Pick<ConversationTemplate, "bridge" | "opening" | "reply" | "rewriting">;
  /** The text that replies of the run begin with. */
  readonly replyPrefix: string;
  /** Most ids of a sequence. */
  readonly limit: number;
}

/**
 * The episode of a conversation, number `seed` of its file, cut after the last reply that fits whole. Where the template rewrites earlier messages
 * a new sequence begins, as an agent's call does. Fails with a sentence where the template cannot write the conversation.
 */
export const encodeToolConversation = Effect.fnUntraced(function* (
  { limit, replyPrefix, template }: ToolEncoder,
  { messages, targets, tools }: ToolConversation,
  seed: number,
): Effect.fn.Return<Encoded, string> {
  const sequences: Turn[][] = [];
  let shown: Int32Array = new Int32Array(0);
  let length = 0;
  let from = 0;
  let encoded = 0;
  for (const [index, message] of messages.entries()) {
    if (!isReply(message)) continue;
    const added = messages.slice(from, index);
    const isBeginning = from === 0 || template.rewriting(added, replyPrefix) !== undefined;
    const prompt = yield* isBeginning
      ? template.opening({ messages: messages.slice(0, index), tools }, replyPrefix)
      : template.bridge(added, tools, replyPrefix);
    const ids = yield* template.reply(message, tools, replyPrefix);
    length = (isBeginning ? 0 : length) + prompt.length + ids.length;
    if (length > limit) break;
    if (isBeginning) sequences.push([]);
    encoded++;
    from = index + 1;
    shown = isBeginning ? prompt : concatIds([shown, prompt]);
    if (!targets.has(index)) {
      shown = concatIds([shown, ids]);
      continue;
    }
    const names = message.calls.length === 0 ? ["reply"] : message.calls.map(({ name }) => name);
    sequences.at(-1)?.push({
      prompt: shown,
      sampled: unsampledReply(ids),
      state: transcript(added),
      reply: message.text,
      parsed: true,
      ...{ actions: names, executed: names.length, reward: 0, penalty: 0, info: {} },
    });
    shown = new Int32Array(0);
  }
  const trained = sequences.filter((turns) => turns.length > 0).map((turns) => ({ turns }));
  const id = { group: seed, member: 0 };
  const outcome = { _tag: "Done", success: true } as const;
  const episode = trained.length === 0 ? null : { id, tag, seed, sequences: trained, outcome };
  return { episode, cut: messages.filter(isReply).length - encoded };
});
