/** A chat endpoint's replies to the calls of a session, without a wire. */

import { it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { ModelCall } from "../../src/agents/dialects/Dialect.ts";
import { Session } from "../../src/agents/session/Session.ts";
import type { Message } from "../../src/domain/Conversation.ts";
import { EndpointReplies } from "../../src/engine/EndpointReplies.ts";
import { type ChatMessage, type ChatReply, EndpointStopped, Unanswered } from "../../src/tools/endpoints/Chat.ts";
import { modelCall } from "../agents/session/testSession.ts";

type Scripted = ChatReply | Unanswered | EndpointStopped;

const callOf = (messages: readonly Message[]): ModelCall =>
  modelCall(
    { tools: [{ name: "add", description: "", parameters: {} }], messages },
    { wishes: { stop: [], neverGranted: ["logit_bias"] } },
  );

/** A session whose endpoint answers from a script. */
const sessionOf = (...script: readonly Scripted[]) => {
  const shown: (readonly ChatMessage[])[] = [];
  const failures: (Unanswered | EndpointStopped)[] = [];
  const complete = (messages: readonly ChatMessage[]) =>
    Effect.suspend(() => {
      shown.push(messages);
      const reply = script[shown.length - 1] ?? { text: "no more", finish: "stop", usage: null };
      return reply instanceof Unanswered || reply instanceof EndpointStopped
        ? Effect.fail(reply)
        : Effect.succeed(reply);
    });
  const tally = () => ({ requests: 0, retries: 0, spent: { prompt: 0, reply: 0 } });
  const replies = new EndpointReplies({ complete, tally, admits: () => true }, () => ["top_k 3"]);
  const onFailure = (error: Unanswered | EndpointStopped) => Effect.sync(() => void failures.push(error));
  return {
    session: new Session({ name: "e", calls: 3, replies: replies.episode(onFailure) }),
    replies,
    shown,
    failures,
  };
};

const user: Message = { role: "user", text: "1 + 1" };

it.effect("give tool calls ids of the session, and are gone on from by them", () =>
  Effect.gen(function* () {
    const calls = [
      { id: "theirs", name: "add", arguments: { a: 1 } },
      { id: "theirs", name: "add", arguments: '{"a"' },
    ];
    const { replies, session, shown } = sessionOf({ text: "Let me see.", calls, finish: "stop", usage: null });
    const answer = yield* session.answer(callOf([user]));
    expect(answer).toMatchObject({ finish: "tool_calls", usage: { prompt: 0, reply: 0 } });
    expect(answer.calls.map(({ id }) => id)).toEqual(["call_ec0_0", "call_ec0_1"]);
    const result: Message = { role: "tool", call: "call_ec0_0", text: "2" };
    const reply: Message = { role: "assistant", text: answer.text, calls: answer.calls };
    yield* session.answer(callOf([user, reply, result]));
    expect(shown[1]).toEqual([
      { role: "user", content: "1 + 1" },
      { role: "assistant", content: "Let me see.", calls: answer.calls },
      { role: "tool", content: "2", call: "call_ec0_0" },
    ]);
    const [root] = session.tree.roots;
    expect(root?.children).toHaveLength(1);
    expect(root?.problems).toEqual(["the arguments of add are no JSON"]);
    expect(root === undefined ? "" : replies.textOf(root.sampled)).toBe('Let me see.\nadd({"a":1})\nadd({"a")');
    expect([...session.ignoredWishes]).toEqual(["top_k 3", "logit_bias"]);
  }),
);

it.effect("that do not come are told of, and are no calls of the tree", () =>
  Effect.gen(function* () {
    const unanswered = new Unanswered({ reason: "exhausted", message: "status 500" });
    const stopped = new EndpointStopped({ reason: "budget", message: "nothing is left" });
    const { failures, session } = sessionOf(unanswered, stopped);
    for (const message of ["status 500", "nothing is left"])
      expect(yield* Effect.flip(session.answer(callOf([user])))).toMatchObject({ status: 503, message });
    expect(failures).toEqual([unanswered, stopped]);
    expect([session.tree.size, session.tree.openCalls, session.limit]).toEqual([0, 0, null]);
  }),
);

it.effect("to a chat that is too long are empty and cut", () =>
  Effect.gen(function* () {
    const { failures, session } = sessionOf(new Unanswered({ reason: "context", message: "too long" }));
    expect(yield* session.answer(callOf([user]))).toMatchObject({ text: "", finish: "length" });
    expect([failures.length, session.tree.size, session.limit]).toEqual([0, 0, "context"]);
  }),
);

it.effect("estimate a conversation's tokens without asking", () =>
  Effect.gen(function* () {
    const { session, shown } = sessionOf();
    const count = yield* session.countTokens(callOf([{ role: "user", text: "x".repeat(400) }]));
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(110);
    expect(shown).toEqual([]);
  }),
);
