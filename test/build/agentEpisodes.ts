/**
 * An agent's episode as the endpoint records it: two tools, two branches from one reply, samples that nobody went on from, and a root that
 * begins anew. Every token is a word.
 */
import { episodeOf } from "../../src/agents/session/record.ts";
import { type CallNode, CallTree } from "../../src/agents/tree/CallTree.ts";
import type { AssistantMessage, Message, Tool, ToolCall } from "../../src/domain/Conversation.ts";
import type { Episode, EpisodeId } from "../../src/domain/Episode.ts";
import { sampledOf } from "./episodes.ts";

const words: string[] = [];

/** Numbers of the words of a text, blanks in front of them included. */
const encode = (text: string): readonly number[] =>
  (text.match(/\s*\S+/g) ?? []).map((word) => {
    const at = words.indexOf(word);
    return at >= 0 ? at : words.push(word) - 1;
  });

/** The word of each id. */
export const agentPieces = (ids: Iterable<number>): readonly string[] => Array.from(ids, (id) => words[id] ?? "");

export const agentTools: readonly Tool[] = ["search", "add"].map((name) => ({ name, description: "", parameters: {} }));

/** A reply of an agent's episode. `thought` is sampled, and not sent to the client. */
export interface ScriptedReply {
  readonly text?: string;
  readonly thought?: string;
  readonly calls?: readonly (readonly [name: string, values: unknown])[];
  readonly problems?: readonly string[];
}

/** A tree that answers from a script. */
export class ScriptedTree {
  readonly tree = new CallTree();

  /** Answers a call; the ids of its tool calls are `NUMBER.INDEX`. */
  answer(messages: readonly Message[], reply: ScriptedReply, tools: readonly Tool[] = agentTools): CallNode {
    const { calls = [], problems = [], text = "", thought } = reply;
    const number = this.tree.size;
    const toolCalls = calls.map(([name, values], at): ToolCall => ({ id: `${number}.${at}`, name, arguments: values }));
    const lines = toolCalls.map(({ arguments: values, name }) => `${name}(${JSON.stringify(values)})`);
    const written = `${thought === undefined ? "" : `<think> ${thought} </think> `}${[text, ...lines].join("\n").trim()}`;
    const ids = encode(written);
    const sampled = sampledOf(ids, {
      mu: Float32Array.from(ids, (_, at) => -(1 + (((number + 2 * at) * 7) % 19)) / 6),
      entropies: Float32Array.from(ids, (_, at) => ((at * 5) % 7) / 4),
      versions: new Int32Array(ids.length).fill(3),
    });
    return this.tree.add(this.tree.place({ messages, tools }), {
      prompt: Int32Array.from(encode(messages.at(-1)?.text ?? "")),
      sampled,
      reply: { role: "assistant", text, calls: toolCalls },
      problems,
    });
  }
}

export const user = (text: string): Message => ({ role: "user", text });
const system: Message = { role: "system", text: "Answer with the tools." };
const results = (reply: AssistantMessage, ...texts: readonly string[]): readonly Message[] =>
  reply.calls.map(({ id }, at) => ({ role: "tool", call: id, text: texts[at] ?? "" }));

/** A text that would be more than text, were it put into a page as it is. */
export const hostileText = `<img src=x onerror="document.title='broken'">`;

/** The calls: 0 and 2 are samples beside 1, which goes on in two branches (3, 4 and 5); 6 begins anew. */
const scriptedTree = (): CallTree => {
  const script = new ScriptedTree();
  const opening = [system, user("How far is the moon, in miles and kilometres?")];
  script.answer(opening, { text: "I do not know." });
  const first = script.answer(opening, {
    thought: "Two searches at once are quicker.",
    calls: [
      ["search", { query: "distance of the moon", limit: 3 }],
      ["search", { query: "kilometres in a mile" }],
    ],
  });
  script.answer(opening, { text: "search(moon", problems: ['the call "search(moon" is not closed'] });
  const found = [...opening, first.reply, ...results(first.reply, `384 400 km ${hostileText}`, "1.609")];
  const sum = script.answer([...found, user("Add the error.")], { calls: [["add", [384_400, 12]]] });
  const added = [...found, user("Add the error."), sum.reply, ...results(sum.reply, "384412")];
  script.answer(added, { text: "384 412 km." });
  script.answer([...found, user("Only miles.")], { text: "238 900 miles." });
  script.answer([system, user("Sum up in one word.")], { text: "Far." });
  return script.tree;
};

/** The whole episode of that tree. */
export const agentEpisode = (id: EpisodeId = { group: 12, member: 0 }): Episode =>
  episodeOf(
    { id, tag: "Agent", seed: 10_012, roots: scriptedTree().roots, limit: null },
    { textOf: ({ ids }) => agentPieces(ids).join("") },
    { rewards: { whole: 1, calls: new Map() }, success: true, metrics: { right: 1 } },
  );
