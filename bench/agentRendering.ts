/**
 * Preparing the prompt of a late call: by the tree of calls, which renders what is new, and by rendering the whole conversation again, as trainers
 * without such a tree do. Each is timed as CPU time of this thread, so that a busy machine adds nothing.
 */
import { Effect } from "effect";
import { chat } from "../src/agents/dialects/chat.ts";
import { CallTree } from "../src/agents/tree/CallTree.ts";
import type { AssistantMessage, Conversation, Message } from "../src/domain/Conversation.ts";
import type { ConversationTemplate } from "../src/model/tokenizer/conversation/ConversationTemplate.ts";

/** Milliseconds of this thread's time. */
export interface PromptCost {
  readonly turns: number;
  readonly tree: number;
  readonly whole: number;
  /** Reading the call's body, which holds all messages in either case. */
  readonly reading: number;
  /** Ids of the whole prompt. */
  readonly tokens: number;
}

const system: Message = { role: "system", text: "You walk over ice to a goal and answer with one direction." };
const user = (turn: number, words: number): Message => ({
  role: "user",
  text: `P___\n_O__\n__O_\n___G\nturn ${turn}${" and you see the ice again".repeat(words)}`,
});
const reply = (turn: number): AssistantMessage => ({ role: "assistant", text: `I go Down ${turn}`, calls: [] });

const sampled = { ids: new Int32Array(8), mu: new Float32Array(8), versions: new Int32Array(8) };
const answered = { ...sampled, entropies: new Float32Array(8), finish: "stop" as const };

/** A tree with a conversation of `turns` − 1 calls, and the conversation of the next one. */
const conversationOf = (turns: number, words: number): { readonly tree: CallTree; readonly next: Conversation } => {
  const tree = new CallTree();
  const messages: Message[] = [system, user(1, words)];
  for (let turn = 1; turn < turns; turn++) {
    const answer = { prompt: new Int32Array(20), sampled: answered, reply: reply(turn), problems: [] };
    tree.add(tree.place({ messages: [...messages], tools: [] }), answer);
    messages.push(reply(turn), user(turn + 1, words));
  }
  return { tree, next: { messages, tools: [] } };
};

const bodyOf = ({ messages }: Conversation): string =>
  JSON.stringify({ model: "policy", messages: messages.map(({ role, text }) => ({ role, content: text })) });

/** The time of this thread that `work` takes, milliseconds. The clock counts in ticks, so many runs are timed together. */
const cpuTime = async (leastMs: number, work: () => Promise<unknown>): Promise<number> => {
  for (let runs = 0; runs < 20; runs++) await work();
  const before = process.threadCpuUsage();
  for (let runs = 1; ; runs++) {
    await work();
    const { system, user } = process.threadCpuUsage(before);
    const ms = (system + user) / 1_000;
    if (ms >= leastMs) return ms / runs;
  }
};

/** Measures the prompt of call number `turns`, whose texts have some `20 + 6 * words` tokens each. */
export const promptCost = async (
  template: ConversationTemplate,
  turns: number,
  words: number,
  leastMs: number,
): Promise<PromptCost> => {
  const { next, tree } = conversationOf(turns, words);
  const byTree = () => {
    const placement = tree.place(next);
    tree.withdraw(placement);
    const { added } = placement;
    return Effect.runPromise(turns === 1 ? template.opening(next, "") : template.bridge(added, [], ""));
  };
  const whole = () => Effect.runPromise(template.opening(next, ""));
  const body = bodyOf(next);
  return {
    turns,
    tree: await cpuTime(leastMs, byTree),
    whole: await cpuTime(leastMs, whole),
    reading: await cpuTime(leastMs, async () => chat.read(JSON.parse(body))),
    tokens: (await whole()).length,
  };
};
