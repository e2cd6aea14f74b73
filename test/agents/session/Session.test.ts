import { Effect, Fiber } from "effect";
import { describe, expect, it } from "vitest";
import type { ModelCall } from "../../../src/agents/dialects/Dialect.ts";
import type { AgentModel } from "../../../src/agents/session/AgentModel.ts";
import { episodeOf } from "../../../src/agents/session/record.ts";
import type { Session } from "../../../src/agents/session/Session.ts";
import { pathIds } from "../../../src/agents/tree/CallTree.ts";
import { concatIds } from "../../../src/domain/Batch.ts";
import type { Message } from "../../../src/domain/Conversation.ts";
import { Policy } from "../../../src/generation/Policy.ts";
import { decode, encode, type FakePolicy, fakePolicy, sampled, scripted } from "../../rollout/fakes.ts";
import { modelCall, testSession } from "./testSession.ts";
import { textModel as model } from "./textModel.ts";

const user = (text: string): Message => ({ role: "user", text });
const assistant = (text: string): Message => ({ role: "assistant", text, calls: [] });
const callOf = (messages: readonly Message[], more: Partial<ModelCall> = {}): ModelCall =>
  modelCall({ tools: [], messages }, more);

const sessionOver = async ({ layer }: FakePolicy, budget = {}, usedModel = model) => {
  const policy = await Effect.runPromise(Effect.provide(Effect.service(Policy), layer));
  return testSession(policy, usedModel, { calls: 5, contextTokens: 200, replyTokens: 10, ...budget }, 100);
};

const run = Effect.runPromise;

describe("a session", () => {
  it("shows the policy only what a later call adds, behind the ids that it sampled", async () => {
    const policy = scripted("b", "d");
    const session = await sessionOver(policy);
    expect((await run(session.answer(callOf([user("a")])))).text).toBe("b");
    await run(session.answer(callOf([user("a"), assistant("b"), user("c")])));
    expect(policy.requests.map(({ append, key, sequence }) => [decode(append), key.counters, sequence])).toEqual([
      ["[user]a[A]", [0, 0, 1], 100],
      ["[user]c[A]", [0, 0, 2], 100],
    ]);
  });

  it("feeds the whole path to a line of its own where a call goes on beside another", async () => {
    const policy = scripted("b", "c");
    const session = await sessionOver(policy);
    for (const text of ["left", "right"])
      await run(session.answer(callOf(text === "left" ? [user("a")] : [user("a"), assistant("b"), user("x")])));
    await run(session.answer(callOf([user("a"), assistant("b"), user(" y")])));
    const [root] = session.tree.roots;
    const last = policy.requests.at(-1);
    expect(last?.sequence).toBe(101);
    expect(last?.append).toEqual(concatIds([pathIds(root!), encode("[user] y[A]")]));
  });

  it("forces the end of a reply that was cut before what follows", async () => {
    const policy = fakePolicy((_, turn) => Effect.succeed(sampled(turn === 1 ? "b" : "d", turn !== 1)));
    const session = await sessionOver(policy);
    expect((await run(session.answer(callOf([user("a")])))).finish).toBe("length");
    await run(session.answer(callOf([user("a"), assistant("b"), user("c")])));
    expect(decode(policy.requests[1]?.append ?? [])).toBe("<end>[user]c[A]");
  });

  const tools = [{ name: "search", description: "", parameters: {} }];
  const withTools = (text: string, more: Partial<ModelCall> = {}) =>
    callOf([user(text)], { conversation: { tools, messages: [user(text)] }, ...more });

  it("reads no tool call where the client wants none", async () => {
    const session = await sessionOver(scripted("!search"));
    const answer = await run(session.answer(withTools("a", { toolChoice: "none" })));
    expect([answer.text, answer.calls, answer.finish]).toEqual(["!search", [], "stop"]);
  });

  it("keeps what could not be read of a reply, which it reads once", async () => {
    const problems = ["the call is not closed"];
    let readings = 0;
    const once: AgentModel = {
      ...model,
      read: (...call) => {
        readings++;
        return { ...model.read(...call), problems };
      },
    };
    const session = await sessionOver(scripted("!search"), {}, once);
    await run(session.answer(withTools("a")));
    const tree = { id: { group: 0, member: 0 }, tag: "Agent", seed: 0, roots: session.tree.roots, limit: null };
    const episode = episodeOf(tree, once, { rewards: { whole: 1, calls: new Map() }, success: true, metrics: {} });
    expect(episode.sequences[0]?.turns[0]).toMatchObject({ parsed: false, call: { problems } });
    expect(readings).toBe(1);
  });

  it("gives tool calls ids that no other answer has", async () => {
    const session = await sessionOver(scripted("!search"));
    const answers = [await run(session.answer(withTools("a"))), await run(session.answer(withTools("b")))];
    expect(answers.map(({ finish }) => finish)).toEqual(["tool_calls", "tool_calls"]);
    expect(new Set(answers.flatMap(({ calls }) => calls.map(({ id }) => id))).size).toBe(2);
  });

  it("goes on from an answer that a client names in place of the messages", async () => {
    const policy = scripted("b", "d");
    const session = await sessionOver(policy);
    const { id } = await run(session.answer(callOf([user("a")])));
    await run(session.answer(callOf([user("c")], { previous: id })));
    expect(decode(policy.requests[1]?.append ?? [])).toBe("[user]c[A]");
    const error = await run(Effect.flip(session.answer(callOf([user("c")], { previous: "other" }))));
    expect([error.status, error.message]).toEqual([400, "previous_response_id: this episode has no such answer"]);
  });

  it("remembers each answer with the tools of its call", async () => {
    const session = await sessionOver(scripted("!search"));
    const { calls, id } = await run(session.answer(withTools("a")));
    expect(session.recall(id)).toMatchObject({ reply: { role: "assistant", text: "", calls }, tools });
    expect(session.recall("other")).toBeNull();
  });

  it.each([
    ["calls", { calls: 1 }, "max_turn"],
    ["context", { contextTokens: 40 }, "context"],
  ] as const)("answers beyond its budget of %s without a sample", async (_, budget, limit) => {
    const policy = scripted("b");
    const session = await sessionOver(policy, budget);
    await run(session.answer(callOf([user("a")])));
    const cut = await run(session.answer(callOf([user("a"), assistant("b"), user("much more than fits")])));
    expect([cut.text, cut.finish, session.limit]).toEqual(["", "length", limit]);
    expect([policy.requests.length, session.tree.size]).toEqual([1, 1]);
  });

  it("cuts a call that is far too long without rendering it", async () => {
    const policy = scripted("b");
    let rendered = 0;
    const counting = { ...model, opening: () => Effect.sync(() => encode(`${++rendered}`)) };
    const session = await sessionOver(policy, { contextTokens: 100 }, counting);
    for (const messages of [[user("x".repeat(2_000))], Array(2_000).fill(user(""))]) {
      const cut = await run(session.answer(callOf(messages)));
      expect([cut.text, cut.finish, session.limit]).toEqual(["", "length", "context"]);
    }
    const tools = [{ name: "search", description: "", parameters: { enum: Array(1_000).fill("x") } }];
    await run(session.answer(callOf([], { conversation: { tools, messages: [user("a")] } })));
    expect([rendered, policy.requests.length, session.tree.size]).toEqual([0, 0, 0]);
  });

  it("takes fewer tokens where a client asks for fewer, and never more", async () => {
    const policy = scripted("b");
    const session = await sessionOver(policy);
    await run(session.answer(callOf([user("a")], { wishes: { stop: [], maxTokens: 3 } })));
    await run(session.answer(callOf([user("b")], { wishes: { stop: [], maxTokens: 99 } })));
    expect(policy.requests.map(({ maxTokens }) => maxTokens)).toEqual([3, 10]);
  });

  it("names what calls ask of sampling, and samples as the run does", async () => {
    const policy = scripted("b");
    const session = await sessionOver(policy);
    await run(session.answer(callOf([user("a")], { wishes: { stop: [], temperature: 0, topP: 1 } })));
    for (const toolChoice of ["required", { name: "search" }, "none"] as const)
      await run(session.answer(withTools("b", { toolChoice })));
    for (const seed of [1, 2])
      await run(
        session.answer(callOf([user("c")], { wishes: { stop: ["."], topK: 5, seed, neverGranted: ["logit_bias"] } })),
      );
    expect([...session.ignoredWishes]).toEqual([
      ...["temperature 0", "tool_choice required", "tool_choice search"],
      ...["top_k 5", "a seed", "logit_bias"],
    ]);
    expect(policy.requests[0]?.sampling.temperature).toBe(1);
  });

  it("feeds the path anew after a call that its client gave up", async () => {
    let calls = 0;
    const policy = fakePolicy(() => (++calls === 2 ? Effect.never : Effect.succeed(sampled("b"))));
    const session = await sessionOver(policy);
    await run(session.answer(callOf([user("a")])));
    const next = callOf([user("a"), assistant("b"), user("c")]);
    const waiting = Effect.runFork(session.answer(next));
    while (policy.requests.length < 2) await new Promise(setImmediate);
    await run(Fiber.interrupt(waiting));
    await run(session.answer(next));
    expect(policy.released).toEqual([100]);
    expect(decode(policy.requests[2]?.append ?? [])).toBe("[user]a[A]b<end>[user]c[A]");
  });

  /** A policy whose replies wait for `release`, and then come in the order that it gives. */
  const heldPolicy = () => {
    const releases: (() => void)[] = [];
    const policy = fakePolicy(({ append }) =>
      Effect.callback<ReturnType<typeof sampled>>((resume) => {
        releases.push(() => resume(Effect.succeed(sampled(decode(append).includes("x") ? "X" : "Y"))));
      }),
    );
    return { policy, releases };
  };
  const startAll = (session: Session, calls: readonly ModelCall[]) =>
    calls.map((call) => Effect.runFork(Effect.result(session.answer(call))));

  it("answers calls at once, each on a line of its own", async () => {
    const { releases, policy } = heldPolicy();
    const session = await sessionOver(policy);
    const fibers = startAll(session, [callOf([user("x")]), callOf([user("y")])]);
    expect(policy.requests.map(({ sequence }) => sequence)).toEqual([100, 101]);
    for (const release of releases.toReversed()) release();
    const texts = await run(Effect.forEach(fibers, Fiber.join));
    expect(texts.map((result) => result._tag === "Success" && result.success.text)).toEqual(["X", "Y"]);
    expect(session.tree.roots.map(({ reply: { text } }) => text)).toEqual(["Y", "X"]);
  });

  it("draws what follows from streams that the order of arrival does not decide", async () => {
    const streamsOf = async (texts: readonly string[]) => {
      const { releases, policy } = heldPolicy();
      const session = await sessionOver(policy, { calls: 9 });
      startAll(session, [callOf([user("first")])]);
      releases[0]?.();
      await new Promise(setImmediate);
      startAll(
        session,
        texts.map((text) => callOf([user(text)])),
      );
      return policy.requests.slice(1).map(({ append, key }) => [decode(append), key.counters.at(-1) ?? 0] as const);
    };
    const [one, other] = [await streamsOf(["x", "y", "y"]), await streamsOf(["y", "x", "y"])];
    const byText = (streams: typeof one) => streams.toSorted(([a, s], [b, t]) => a.localeCompare(b) || s - t);
    expect(byText(one)).toEqual(byText(other));
    expect(new Set(one.map(([, stream]) => stream)).size).toBe(3);
    expect(Math.min(...one.map(([, stream]) => stream))).toBeGreaterThanOrEqual(2 ** 31);
  });

  it("counts the tokens of a call without sampling", async () => {
    const policy = scripted("b");
    const session = await sessionOver(policy);
    expect(await run(session.countTokens(callOf([user("a")])))).toBe("[user]a[A]".length);
    expect([policy.requests.length, session.tree.size]).toEqual([0, 0]);
  });

  it("refuses to count what its model cannot show, and goes on", async () => {
    const session = await sessionOver(scripted("b"), {}, { ...model, toolsProblem: "the model has no tools" });
    expect(await run(Effect.flip(session.countTokens(withTools("a"))))).toMatchObject({ status: 400 });
    expect(session.setupProblem).toBeNull();
  });

  it("counts open calls in its budget", async () => {
    const { policy } = heldPolicy();
    const session = await sessionOver(policy, { calls: 1 });
    startAll(session, [callOf([user("x")])]);
    expect((await run(session.answer(callOf([user("y")])))).finish).toBe("length");
  });

  it("cuts again where a call goes on from an answer that was cut, which it may name", async () => {
    const session = await sessionOver(scripted("b"), { calls: 1 });
    await run(session.answer(callOf([user("a")])));
    const cut = await run(session.answer(callOf([user("b")])));
    expect(session.recall(cut.id)?.reply).toEqual(assistant(""));
    expect(await run(session.answer(callOf([user("c")], { previous: cut.id })))).toMatchObject({
      finish: "length",
      text: "",
    });
    expect(session.tree.size).toBe(1);
  });

  it("answers a marked retry with the answer that was missed, and takes an unmarked one for a sample of its own", async () => {
    const policy = scripted("b", "c");
    const session = await sessionOver(policy);
    const send = (isRetry: boolean) => run(session.answer(callOf([user("a")]), { body: "a", isRetry }));
    const [first, retry, again] = [await send(false), await send(true), await send(false)];
    expect([retry, again.id === first.id]).toEqual([first, false]);
    expect(policy.requests).toHaveLength(2);
  });

  it("samples anew for a retry whose first attempt was given up, with the same draws", async () => {
    const { releases, policy } = heldPolicy();
    const session = await sessionOver(policy);
    const send = (isRetry: boolean) => session.answer(callOf([user("x")]), { body: "a", isRetry });
    const first = Effect.runFork(send(false));
    const retry = Effect.runFork(send(true));
    await run(Fiber.interrupt(first));
    await new Promise(setImmediate);
    releases[1]?.();
    expect((await run(Fiber.join(retry))).text).toBe("X");
    expect(policy.requests.map(({ key, sequence }) => [key.counters, sequence])).toEqual([
      [[0, 0, 1], 100],
      [[0, 0, 1], 100],
    ]);
  });

  it("gives each of several equal requests, of which one is sent again, a sample of its own", async () => {
    const { releases, policy } = heldPolicy();
    const session = await sessionOver(policy);
    const send = (isRetry: boolean) => session.answer(callOf([user("x")]), { body: "a", isRetry });
    const [first, second] = [Effect.runFork(send(false)), Effect.runFork(send(false))];
    await run(Fiber.interrupt(first));
    const retry = Effect.runFork(send(true));
    for (const release of releases) release();
    const ids = await run(Effect.forEach([second, retry], (fiber) => Effect.map(Fiber.join(fiber), ({ id }) => id)));
    expect(new Set(ids).size).toBe(2);
  });

  it("passes a client's stop texts on, and cuts its text there", async () => {
    const policy = scripted("b.");
    const session = await sessionOver(policy);
    const answer = await run(session.answer(callOf([user("a")], { wishes: { stop: ["."] } })));
    expect([policy.requests[0]?.stop, answer.stop, answer.finish]).toEqual([["."], ".", "stop"]);
  });

  it("cancels what runs when it ends, refuses later calls, and frees its caches", async () => {
    const policy = fakePolicy(() => Effect.never);
    const session = await sessionOver(policy);
    const fibers = startAll(session, [callOf([user("a")]), callOf([user("b")])]);
    await run(session.end);
    const late = await run(Effect.result(session.answer(callOf([user("c")]))));
    const results = [...(await run(Effect.forEach(fibers, Fiber.join))), late];
    expect(results.map((result) => result._tag === "Failure" && result.failure.status)).toEqual([410, 410, 410]);
    expect([policy.requests.length, new Set(policy.released)]).toEqual([2, new Set([100, 101])]);
    expect([session.tree.size, session.tree.openCalls]).toEqual([0, 0]);
  });
});
