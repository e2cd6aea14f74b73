/**
 * Random clients against a plain model of what must be trained. They go on, fork, call at once, ask again, edit, compact, strip thoughts, change tools,
 * and give calls up in the middle; replies come in any order, whole or cut.
 */

import { isDeepStrictEqual } from "node:util";
import { Deferred, Effect, Fiber } from "effect";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ModelAnswer } from "../../../src/agents/dialects/Dialect.ts";
import type { AgentModel } from "../../../src/agents/session/AgentModel.ts";
import { episodeOf } from "../../../src/agents/session/record.ts";
import type { Session } from "../../../src/agents/session/Session.ts";
import { type CallNode, transcriptOf } from "../../../src/agents/tree/CallTree.ts";
import { concatIds } from "../../../src/domain/Batch.ts";
import type { AssistantMessage, Message, Tool } from "../../../src/domain/Conversation.ts";
import { messagesAgree } from "../../../src/domain/Conversation.ts";
import { type Episode, repliesOf, rewardOf, type Sampled } from "../../../src/domain/Episode.ts";
import { type GenerateRequest, Policy } from "../../../src/generation/Policy.ts";
import { assertProperty } from "../../property.ts";
import { encode, endId, sampled } from "../../rollout/fakes.ts";
import { modelCall, testSession } from "./testSession.ts";
import { promptText, textModel } from "./textModel.ts";

const user = (text: string): Message => ({ role: "user", text });
const noTools: readonly Tool[] = [];
const someTools: readonly Tool[] = [{ name: "search", description: "", parameters: {} }];

/** A policy that answers when the test says so. It keeps the ids that each sequence was fed and has sampled. */
class HeldPolicy {
  readonly histories = new Map<number, Int32Array>();
  readonly held: { readonly request: GenerateRequest; readonly reply: Deferred.Deferred<Sampled> }[] = [];

  readonly service = Policy.of({
    generate: (request) =>
      Effect.suspend(() => {
        const { append, sequence } = request;
        // A cache has one request at a time.
        expect(this.held.map((other) => other.request.sequence)).not.toContain(sequence);
        this.histories.set(sequence, concatIds([this.histories.get(sequence) ?? new Int32Array(0), append]));
        const call = { request, reply: Deferred.makeUnsafe<Sampled>() };
        this.held.push(call);
        return Effect.ensuring(
          Deferred.await(call.reply),
          Effect.sync(() => void this.held.splice(this.held.indexOf(call), 1)),
        );
      }),
    release: (sequence) => Effect.sync(() => void this.histories.delete(sequence)),
    version: Effect.succeed(0),
    hold: Effect.succeed(0),
    awaitVersion: () => Effect.void,
    gauges: Effect.die("nobody asks for the gauges"),
  });

  /** Answers a request, and gives the ids that the reply stands behind. */
  answer(request: GenerateRequest, reply: Sampled): Int32Array {
    const history = this.histories.get(request.sequence) ?? new Int32Array(0);
    this.histories.set(request.sequence, concatIds([history, reply.ids]));
    const call = this.held.find((each) => each.request === request);
    if (call !== undefined) Deferred.doneUnsafe(call.reply, Effect.succeed(reply));
    return history;
  }
}

/** A call as its client knows it. */
interface ClientCall {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** Answered calls at the time when it was made. */
  readonly known: readonly AnsweredCall[];
  /** Calls that were under way at that time. */
  readonly beside: readonly Pick<ClientCall, "messages">[];
}

interface OpenCall extends ClientCall {
  readonly fiber: Fiber.Fiber<ModelAnswer, unknown>;
  readonly request: GenerateRequest;
}

interface AnsweredCall extends ClientCall {
  readonly reply: AssistantMessage;
  readonly sampled: Sampled;
  /** Ids that the policy had been fed before the reply. */
  readonly history: Int32Array;
  readonly stream: string;
}

const pathOf = ({ messages, reply }: AnsweredCall): readonly Message[] => [...messages, reply];

const begins = (messages: readonly Message[], past: readonly Message[]): boolean =>
  past.length < messages.length && past.every((message, at) => messagesAgree(message, messages[at] as Message));

/** A template that drops thoughts before the last message of a user: whatever one follows begins anew. */
const rewritingModel: AgentModel = {
  ...textModel,
  rewriting: (added) => (added.some(({ role }) => role === "user") ? "it drops earlier thoughts" : undefined),
};

/** The length of the longest answered conversation that a call extends; 0 if there is none. */
const longestPast = ({ known, messages, tools }: ClientCall): number =>
  Math.max(
    0,
    ...known
      .filter((past) => past.tools === tools && begins(messages, pathOf(past)))
      .map((past) => pathOf(past).length),
  );

/** The ids that a call must be shown, by its messages and the ids of the conversation that it goes on from. */
const shownIds = (call: ClientCall, parent: AnsweredCall | null): Int32Array => {
  if (parent === null) return encode(promptText(call.messages));
  const end = parent.sampled.ids.at(-1) === endId ? [] : [Int32Array.of(endId)];
  const added = call.messages.slice(pathOf(parent).length);
  return concatIds([parent.history, parent.sampled.ids, ...end, encode(promptText(added))]);
};

const withoutThoughts = (message: Message): Message => ({
  ...message,
  text: message.text.replace(/<think>.*<\/think>/, ""),
});

const ways = ["append", "results", "repeat", "edit", "compact", "strip", "retool", "other", "fresh"] as const;

/** The messages and tools of a client's next call behind an answered one. */
const nextCall = (
  past: AnsweredCall,
  way: (typeof ways)[number],
  text: string,
): Pick<ClientCall, "messages" | "tools"> => {
  const { messages, reply, tools } = past;
  const all = pathOf(past);
  const [first, ...rest] = all;
  switch (way) {
    case "append":
      return { messages: [...all, user(text)], tools };
    case "results": {
      const results = reply.calls.map(({ id }): Message => ({ role: "tool", call: id, text }));
      return { messages: [...all, ...(results.length === 0 ? [user(text)] : results)], tools };
    }
    case "repeat":
      return { messages, tools };
    case "edit":
      return { messages: [user(`${first?.text}!`), ...rest, user(text)], tools };
    case "compact":
      return { messages: [user(`sum of ${all.length}`), user(text)], tools };
    case "strip":
      return { messages: [...all.map(withoutThoughts), user(text)], tools };
    case "retool":
      return { messages: [...all, user(text)], tools: tools === noTools ? someTools : noTools };
    case "other":
      return { messages: [{ role: "system", text: `agent ${text}` }, user(text)], tools };
    case "fresh":
      return { messages: [user(text)], tools };
  }
};

/** One step: make a call, answer one of those under way, or give one up. */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant("call"),
      from: fc.nat(30),
      way: fc.constantFrom(...ways),
      text: fc.constantFrom("x", "y"),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant("answer"),
      at: fc.nat(5),
      text: fc.constantFrom("p", "q", "<think>r</think>p", "!search"),
      isWhole: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("give up"), at: fc.nat(5) }) },
);
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never;

/** The clients of one episode: what they have asked and got. */
class Clients {
  readonly policy = new HeldPolicy();
  readonly answered: AnsweredCall[] = [];
  readonly #open: OpenCall[] = [];
  readonly session: Session;

  constructor(model: AgentModel) {
    this.session = testSession(this.policy.service, model, { calls: 100, contextTokens: 100_000, replyTokens: 20 });
  }

  async take(next: Step): Promise<void> {
    if ("way" in next) this.#call(next.from, next.way, next.text);
    else if ("text" in next) await this.#answer(next.at, next.text, next.isWhole);
    else await this.#giveUp(next.at);
  }

  /** Answers what is still under way. */
  async finish(): Promise<void> {
    while (this.#open.length > 0) await this.#answer(0, "p", true);
  }

  #call(from: number, way: (typeof ways)[number], text: string): void {
    const past = this.answered[from % Math.max(1, this.answered.length)];
    const call = past === undefined ? { messages: [user(text)], tools: noTools } : nextCall(past, way, text);
    const before = this.policy.held.length;
    const fiber = Effect.runFork(this.session.answer(modelCall(call)));
    expect(this.policy.held.length).toBe(before + 1);
    const { request } = this.policy.held[before]!;
    this.#open.push({ ...call, fiber, request, known: [...this.answered], beside: [...this.#open] });
  }

  async #answer(at: number, text: string, isWhole: boolean): Promise<void> {
    const [call] = this.#open.splice(at % Math.max(1, this.#open.length), 1);
    if (call === undefined) return;
    const { fiber, request, ...rest } = call;
    const reply = sampled(text, isWhole);
    const history = this.policy.answer(request, reply);
    const answer = await Effect.runPromise(Fiber.join(fiber));
    const message: AssistantMessage = { role: "assistant", text: answer.text, calls: answer.calls };
    this.answered.push({ ...rest, reply: message, sampled: reply, history, stream: String(request.key.counters) });
  }

  async #giveUp(at: number): Promise<void> {
    const [call] = this.#open.splice(at % Math.max(1, this.#open.length), 1);
    if (call !== undefined) await Effect.runPromise(Fiber.interrupt(call.fiber));
  }
}

/** Calls that must not be trained on: nobody went on from them, but somebody did from an equal call with the same parent. */
const leftOut = (nodes: readonly CallNode[]): readonly CallNode[] => {
  const hasNext = (node: CallNode): boolean => nodes.some(({ parent }) => parent === node);
  const areEqual = (a: CallNode, b: CallNode): boolean =>
    a.parent === b.parent &&
    a.tools === b.tools &&
    a.added.length === b.added.length &&
    a.added.every((message, at) => messagesAgree(message, b.added[at] as Message));
  return nodes.filter((node) => !hasNext(node) && nodes.some((other) => hasNext(other) && areEqual(other, node)));
};

const expectTrained = (episode: Episode, clients: Clients, nodes: readonly CallNode[]): void => {
  const rows = repliesOf(episode).map((turn) => turn.sampled);
  const expected = nodes.filter((node) => !leftOut(nodes).includes(node)).map((node) => node.sampled);
  expect(new Set(rows)).toEqual(new Set(expected));
  expect(rows).toHaveLength(expected.length);
  for (const { turns } of episode.sequences) {
    let before: Int32Array = new Int32Array(0);
    for (const turn of turns) {
      before = concatIds([before, turn.prompt]);
      expect(before).toEqual(clients.answered.find((call) => call.sampled === turn.sampled)?.history);
      before = concatIds([before, turn.sampled.ids]);
    }
  }
};

it("trains what was sampled once, behind what it was sampled behind, whatever clients do", async () => {
  const seen = new Set<string>();
  const models = [textModel, rewritingModel];
  await assertProperty(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40 }),
      fc.constantFrom(...models),
      async (steps, model) => {
        const clients = new Clients(model);
        for (const each of steps) await clients.take(each);
        await clients.finish();
        const { answered, session } = clients;
        const nodes = answered.map((call) => session.callOf(`ec${answered.indexOf(call)}`)!);
        expect(nodes.map((node) => node.sampled)).toEqual(answered.map((call) => call.sampled));
        expect(session.tree.openCalls).toBe(0);

        for (const [at, call] of answered.entries()) {
          const { fork, parent, repetition } = nodes[at]!;
          // It goes on from the longest conversation that had been answered, and is shown what is new behind its ids.
          const past = longestPast(call);
          const isRewritten = past > 0 && model.rewriting(call.messages.slice(past)) !== undefined;
          expect(parent === null ? 0 : transcriptOf(parent).length).toBe(isRewritten ? 0 : past);
          expect(fork === "template").toBe(isRewritten && repetition === 0);
          // Before the first answer, a call begins anew beside those under way that have other messages.
          const isRepeated = call.beside.some(({ messages }) => isDeepStrictEqual(messages, call.messages));
          if (call.known.length === 0) expect(fork).toBe(call.beside.length > 0 && !isRepeated ? "parallel" : null);
          expect(call.history).toEqual(shownIds(call, parent === null ? null : answered[parent.number]!));
          expect([...(parent === null ? [] : transcriptOf(parent)), ...nodes[at]!.added]).toHaveLength(
            call.messages.length,
          );
          seen.add(fork ?? (parent === null ? "root" : "child"));
        }
        // No two replies are draws of one stream.
        expect(new Set(answered.map(({ stream }) => stream)).size).toBe(answered.length);

        const rewards = { whole: 1, calls: new Map(answered.map((_, at) => [at, at])) };
        const tree = { id: { group: 0, member: 0 }, tag: "T", seed: 0, roots: session.tree.roots, limit: null };
        const episode = episodeOf(tree, textModel, { rewards, success: true, metrics: {} });
        expectTrained(episode, clients, nodes);
        if (leftOut(nodes).length > 0) seen.add("left out");
        if (episode.sequences.length > session.tree.roots.length) seen.add("shared");
        const total = answered.reduce((sum, _, at) => sum + at, 1);
        expect(answered.length === 0 ? 1 : rewardOf(episode)).toBe(answered.length === 0 ? 1 : total);
      },
    ),
    { numRuns: 300 },
  );
  const all = [
    "root",
    "child",
    "edited",
    "compaction",
    "thoughts_stripped",
    "tools_changed",
    "other_agent",
    "parallel",
    "template",
    "left out",
    "shared",
  ];
  expect([...seen].sort()).toEqual(all.sort());
});
