import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CallNode,
  CallTree,
  callsOf,
  pathIds,
  trainedCalls,
  transcriptOf,
} from "../../../src/agents/tree/CallTree.ts";
import { concatIds } from "../../../src/domain/Batch.ts";
import type { AssistantMessage, Conversation, Message } from "../../../src/domain/Conversation.ts";
import type { Sampled } from "../../../src/domain/Episode.ts";

const sampledOf = (...ids: readonly number[]): Sampled => ({
  ids: Int32Array.from(ids),
  mu: new Float32Array(ids.length),
  versions: new Int32Array(ids.length),
  entropies: new Float32Array(ids.length),
  finish: "stop",
});

const user = (text: string): Message => ({ role: "user", text });
const reply = (text: string): AssistantMessage => ({ role: "assistant", text, calls: [] });

let nextId = 1;
/** Places a call, answers it with `text`, and gives its node. */
const call = (
  tree: CallTree,
  messages: readonly Message[],
  text: string,
  tools: Conversation["tools"] = [],
): CallNode =>
  tree.add(tree.place({ messages, tools }), {
    prompt: Int32Array.of(nextId++),
    sampled: sampledOf(nextId++),
    reply: reply(text),
    problems: [],
  });

describe("a tree of calls", () => {
  it("goes on from the call whose messages and reply a later one begins with", () => {
    const tree = new CallTree();
    const first = call(tree, [user("a")], "b");
    const second = call(tree, [user("a"), reply("b"), user("c")], "d");
    expect([second.parent, second.turn, second.added]).toEqual([first, 2, [user("c")]]);
    expect(pathIds(second)).toEqual(concatIds([first.prompt, first.sampled.ids, second.prompt, second.sampled.ids]));
  });

  it("takes a tool call that the client wrote anew for the same one", () => {
    const tree = new CallTree();
    const searchCall = (id: string, args: unknown): AssistantMessage => ({
      role: "assistant",
      text: "",
      calls: [{ id, name: "search", arguments: args }],
    });
    const placement = tree.place({ messages: [user("a")], tools: [] });
    const sampled = sampledOf(2);
    const node = tree.add(placement, {
      prompt: Int32Array.of(1),
      sampled,
      reply: searchCall("x", { q: 1, n: 2 }),
      problems: [],
    });
    const result: Message = { role: "tool", call: "y", text: "found" };
    expect(tree.place({ messages: [user("a"), searchCall("y", { n: 2, q: 1 }), result], tools: [] }).parent).toBe(node);
    expect(tree.place({ messages: [user("a"), searchCall("y", { q: 2 }), result], tools: [] }).parent).toBeNull();
  });

  const system = (text: string): Message => ({ role: "system", text });
  const tool = { name: "search", description: "", parameters: {} };
  it.each<[string, Conversation]>([
    ["edited", { messages: [system("s"), user("other"), reply("<think>x</think>b"), user("c")], tools: [tool] }],
    ["compaction", { messages: [system("s"), user("sum")], tools: [tool] }],
    ["thoughts_stripped", { messages: [system("s"), user("a"), reply("b"), user("c")], tools: [tool] }],
    ["tools_changed", { messages: [system("s"), user("a"), reply("<think>x</think>b"), user("c")], tools: [] }],
    ["other_agent", { messages: [system("t"), user("a")], tools: [tool] }],
  ])("begins a root with the reason %s", (reason, conversation) => {
    const tree = new CallTree();
    call(tree, [system("s"), user("a")], "<think>x</think>b", [tool]);
    expect(tree.place(conversation)).toMatchObject({ parent: null, turn: 1, fork: reason });
  });

  it.each<[string, Conversation]>([
    ["parallel", { messages: [system("s"), user("b")], tools: [tool] }],
    ["other_agent", { messages: [system("t"), user("a")], tools: [tool] }],
    ["other_agent", { messages: [system("s"), user("a")], tools: [] }],
  ])("begins a root beside an open first call with the reason %s", (reason, conversation) => {
    const tree = new CallTree();
    const first = tree.place({ messages: [system("s"), user("a")], tools: [tool] });
    const second = tree.place(conversation);
    expect([first.fork, second.fork]).toEqual([null, reason]);
    expect(tree.place(conversation).fork).toBeNull();
  });

  it("knows a conversation that begins beside an open one from a history made shorter", () => {
    const tree = new CallTree();
    call(tree, [user("a")], "b");
    const shortened = tree.place({ messages: [user("c")], tools: [] });
    expect([shortened.fork, tree.place({ messages: [user("d")], tools: [] }).fork]).toEqual(["compaction", "parallel"]);
  });

  it("takes calls with the same messages for several samples, and leaves out those that nobody went on from", () => {
    const tree = new CallTree();
    const samples = ["b", "c", "d"].map((text) => call(tree, [user("a")], text));
    expect(samples.map(({ line, repetition, fork }) => [line, repetition, fork])).toEqual(
      [0, 1, 2].map((n) => [n, n, null]),
    );
    expect(trainedCalls(tree.roots).discarded).toEqual([]);
    call(tree, [user("a"), reply("c"), user("e")], "f");
    const { discarded, sequences } = trainedCalls(tree.roots);
    expect(discarded).toEqual([samples[0], samples[2]]);
    expect(sequences.map((sequence) => sequence.length)).toEqual([2]);
  });

  it("trains a shared call once, in the first of its sequences", () => {
    const tree = new CallTree();
    const root = call(tree, [user("a")], "b");
    const left = call(tree, [user("a"), reply("b"), user("left")], "c");
    const right = call(tree, [user("a"), reply("b"), user("right")], "d");
    const { sequences } = trainedCalls(tree.roots);
    expect(sequences.map((calls) => calls.map(({ node }) => node))).toEqual([[root, left], [right]]);
    expect(sequences[1]?.[0]?.prompt).toEqual(concatIds([root.prompt, root.sampled.ids, right.prompt]));
  });
});

it("reads a line of calls of any length", () => {
  const tree = new CallTree();
  const length = 20_000;
  let last = call(tree, [user("0")], "r0");
  // Each call is placed by hand: finding its place would read all earlier messages again.
  for (let at = 1; at < length; at++) {
    const { prompt, sampled } = last;
    const placement = { ...last, parent: last, turn: at + 1, stream: at + 1, added: [user(`${at}`)] };
    last = tree.add(placement, { prompt, sampled, reply: reply(`r${at}`), problems: [] });
  }
  expect(callsOf(tree.roots).map(({ number }) => number)).toEqual(Array.from({ length }, (_, at) => at));
  expect(transcriptOf(last).map(({ text }) => text)).toEqual(
    Array.from({ length }, (_, at) => [`${at}`, `r${at}`]).flat(),
  );
});

/** One step of a client: which earlier call it goes on from (by index, wrapping), and how. */
const step = fc.record({
  from: fc.nat(30),
  how: fc.constantFrom("append", "retry", "edit", "compact", "fresh"),
  text: fc.constantFrom("x", "y", "z"),
  answer: fc.constantFrom("p", "q"),
});

it("trains each call at most once, behind exactly the ids of its path, whatever a client does", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 24 }), (steps) => {
      const tree = new CallTree();
      const calls: { readonly node: CallNode; readonly messages: readonly Message[] }[] = [];
      for (const { answer, from, how, text } of steps) {
        const past = calls.length === 0 ? undefined : calls[from % calls.length];
        const all = past === undefined ? [] : [...past.messages, past.node.reply];
        const messages: readonly Message[] =
          past === undefined || how === "fresh"
            ? [user(text)]
            : how === "append"
              ? [...all, user(text)]
              : how === "retry"
                ? past.messages
                : how === "edit"
                  ? [user(`${text}!`), ...all.slice(1), user(text)]
                  : [user("summary"), user(text)];
        calls.push({ node: call(tree, messages, answer), messages });
      }
      const { discarded, sequences } = trainedCalls(tree.roots);
      const trained = sequences.flat().map(({ node }) => node);
      expect(new Set(trained).size).toBe(trained.length);
      expect(new Set([...trained, ...discarded]).size).toBe(calls.length);
      expect(tree.size).toBe(calls.length);
      for (const sequence of sequences) {
        let before: Int32Array = new Int32Array(0);
        for (const { node, prompt } of sequence) {
          before = concatIds([before, prompt, node.sampled.ids]);
          expect(before).toEqual(pathIds(node));
        }
      }
      // A call shows the messages that its client sent, and no other.
      for (const { messages, node } of calls) {
        const path: Message[] = [];
        for (let at: CallNode | null = node; at !== null; at = at.parent)
          path.unshift(...at.added, ...(at === node ? [] : [at.reply]));
        expect(path).toEqual(messages);
      }
    }),
  );
});
