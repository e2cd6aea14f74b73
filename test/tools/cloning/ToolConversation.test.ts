import { describe, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { expect } from "vitest";
import { agentModel } from "../../../src/agents/session/agentModelOf.ts";
import { type Message, messagesAgree } from "../../../src/domain/Conversation.ts";
import { type Episode, totalTokens, turnsOf } from "../../../src/domain/Episode.ts";
import { stream } from "../../../src/domain/Random.ts";
import { Policy } from "../../../src/generation/Policy.ts";
import * as Model from "../../../src/model/Model.ts";
import * as ConversationTemplate from "../../../src/model/tokenizer/conversation/ConversationTemplate.ts";
import { unsampledReply } from "../../../src/tools/cloning/Demonstration.ts";
import {
  checkToolConversation,
  encodeToolConversation,
  type ToolConversation,
  type ToolEncoder,
} from "../../../src/tools/cloning/ToolConversation.ts";
import { modelCall, testSession } from "../../agents/session/testSession.ts";
import { tinyArchitecture } from "../../build/tinyConfig.ts";
import { loadTokenizer } from "../../model/tokenizer/conversation/fixtures.ts";
import { assistant, call, look, result, say, system, user } from "../../model/tokenizer/conversation/tools.ts";
import { fakePolicy } from "../../rollout/fakes.ts";

const tools = [look, say];

const conversationOf = (messages: readonly Message[], left: readonly number[] = []): ToolConversation => {
  const targets = messages.flatMap(({ role }, index) => (role === "assistant" && !left.includes(index) ? [index] : []));
  return { tools, messages, targets: new Set(targets) };
};

/** Two calls at once, their results, a word of the user and an answer. */
const dialogue: readonly Message[] = [
  system("be short"),
  user("go"),
  assistant("", call("say", { text: "a" }, "c1"), call("look", {}, "c2")),
  result("1", "c1"),
  result("2", "c2"),
  assistant("seen"),
  user("again"),
  assistant("so", call("look", {}, "c3")),
  result("3", "c3"),
  assistant("done"),
];

const modelOf = Model.randomModel(tinyArchitecture, stream({ seed: 1, purpose: "initialisation", counters: [] }));

const setUp = Effect.fnUntraced(function* (replyPrefix: string, limit = 1_000) {
  const model = yield* modelOf;
  const template = yield* ConversationTemplate.make(model.tokenizer);
  const encoder: ToolEncoder = { template, replyPrefix, limit };
  return { model, encoder, decode: model.tokenizer.decode };
});

const sequencesOf = (episode: Episode | null): readonly (readonly number[])[] =>
  (episode?.sequences ?? []).map(({ turns }) => turns.flatMap(({ prompt, sampled }) => [...prompt, ...sampled.ids]));

/** Plays the messages as an agent does, by a policy that samples these replies; returns the ids that each call appended. */
const appendedByCalls = Effect.fnUntraced(function* (
  model: Model.Model,
  prefix: string,
  messages: readonly Message[],
  replies: readonly Int32Array[],
) {
  const fake = fakePolicy((_, turn) => Effect.succeed(unsampledReply(replies[turn - 1] ?? new Int32Array(0))));
  const session = testSession(
    yield* Effect.provide(Effect.service(Policy), fake.layer),
    yield* agentModel(model, prefix),
    { calls: 9, contextTokens: 1_000, replyTokens: 40 },
  );
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const answer = yield* session.answer(modelCall({ tools, messages: messages.slice(0, index) }));
    const written = { role: "assistant", text: answer.text, calls: answer.calls } as const;
    expect(messagesAgree(written, message)).toBe(true);
  }
  return fake.requests.map(({ append }) => append);
});

describe("a conversation with tools", () => {
  it.live("has the ids that an agent's calls show and sample", () =>
    Effect.gen(function* () {
      const { encoder, model } = yield* setUp("<answer>");
      const { cut, episode } = yield* encodeToolConversation(encoder, conversationOf(dialogue), 0);
      const turns = turnsOf(episode!);
      expect([cut, turns.length]).toEqual([0, 4]);
      const replies = turns.map(({ sampled }) => sampled.ids);
      const appended = yield* appendedByCalls(model, "<answer>", dialogue, replies);
      expect(turns.map(({ prompt }) => prompt)).toEqual(appended);
    }).pipe(Effect.scoped),
  );

  it.live("trains the assistant's words and the token that ends them", () =>
    Effect.gen(function* () {
      const { decode, encoder } = yield* setUp("<answer>");
      const { episode } = yield* encodeToolConversation(encoder, conversationOf(dialogue), 0);
      expect(turnsOf(episode!).map(({ sampled }) => decode(sampled.ids))).toEqual([
        "say(a)\nlook()</answer><|im_end|>",
        "seen</answer><|im_end|>",
        "so\nlook()</answer><|im_end|>",
        "done</answer><|im_end|>",
      ]);
      expect(turnsOf(episode!).map(({ prompt }) => decode(prompt))).toEqual([
        "<|system|>be short\nlook(): Shows the board.\nsay(text): Says a text.<|user|>go<|assistant|><answer>",
        "<|user|>1<|user|>2<|assistant|><answer>",
        "<|user|>again<|assistant|><answer>",
        "<|user|>3<|assistant|><answer>",
      ]);
    }).pipe(Effect.scoped),
  );

  it.live("shows a reply of weight 0 and does not train on it", () =>
    Effect.gen(function* () {
      const { decode, encoder } = yield* setUp("<answer>");
      const all = yield* encodeToolConversation(encoder, conversationOf(dialogue), 0);
      const some = yield* encodeToolConversation(encoder, conversationOf(dialogue, [2, 5]), 0);
      expect(sequencesOf(some.episode)).toEqual(sequencesOf(all.episode));
      expect(turnsOf(some.episode!).map(({ sampled }) => decode(sampled.ids))).toEqual([
        "so\nlook()</answer><|im_end|>",
        "done</answer><|im_end|>",
      ]);
    }).pipe(Effect.scoped),
  );

  it.live("is cut after the last reply that fits whole, or is none", () =>
    Effect.gen(function* () {
      const { encoder } = yield* setUp("<answer>");
      const { episode } = yield* encodeToolConversation(encoder, conversationOf(dialogue), 0);
      const length = totalTokens(episode!);
      const cut = yield* encodeToolConversation({ ...encoder, limit: length - 1 }, conversationOf(dialogue), 0);
      expect([cut.cut, turnsOf(cut.episode!).length]).toEqual([1, 3]);
      expect(yield* encodeToolConversation({ ...encoder, limit: 5 }, conversationOf(dialogue), 0)).toEqual({
        cut: 4,
        episode: null,
      });
    }).pipe(Effect.scoped),
  );

  it.live("begins a sequence of its own where the template rewrites earlier messages", () =>
    Effect.gen(function* () {
      const tokenizer = yield* loadTokenizer("qwen3");
      const template = yield* ConversationTemplate.make(tokenizer);
      const messages: readonly Message[] = [
        user("go"),
        assistant("<think>\nso\n</think>\n\nWell.", call("look", {}, "c1")),
        result("1", "c1"),
        assistant("<think>\nthen\n</think>\n\nseen"),
        user("on"),
        assistant("<think>\nnow\n</think>\n\ndone"),
      ];
      const encoder: ToolEncoder = { template, replyPrefix: "<think>", limit: 1_000 };
      const { episode } = yield* encodeToolConversation(encoder, conversationOf(messages), 0);
      expect(episode?.sequences.map(({ turns }) => turns.length)).toEqual([2, 1]);
      const [first = [], second = []] = sequencesOf(episode).map((ids) => tokenizer.decode(ids));
      expect(first).toContain("<think>\nso\n</think>\n\nWell.");
      expect(String(second).endsWith("<think>\nnow\n</think>\n\ndone<|im_end|>")).toBe(true);
      expect(second).not.toContain("then");
    }).pipe(Effect.scoped),
  );
});

describe("messages with tools", () => {
  const problem = (...messages: readonly Message[]): string => {
    const checked = checkToolConversation(conversationOf(messages), "messages");
    return Result.isFailure(checked) ? checked.failure : "accepted";
  };
  const looking = assistant("", call("look", {}, "c1"));

  it("may end with others than a reply, which are left out", () => {
    const checked = checkToolConversation(conversationOf([user("go"), looking, result("1", "c1")]), "messages");
    expect(Result.getOrThrow(checked).messages).toEqual([user("go"), looking]);
  });

  it.each([
    [[user("go")], "messages: no reply of the assistant to clone"],
    [[assistant("a")], "messages[0]: a reply stands before any user's message"],
    [
      [user("go"), looking, result("1", "c2"), assistant("b")],
      'messages[2].tool_call_id: the reply before it has no call "c2"',
    ],
    [[user("go"), result("1", "c1"), looking], 'messages[1].tool_call_id: the reply before it has no call "c1"'],
    [[user("go"), looking, user("on"), assistant("b")], 'messages[2]: the call "c1" before it has no result'],
    [[user("go"), looking, assistant("b")], 'messages[2]: the call "c1" before it has no result'],
    [[user("go"), assistant("a"), assistant("b")], "messages[2]: a reply stands right behind another"],
    [[user("go"), assistant("", call("jump", {}))], 'messages[1].tool_calls: tools has none named "jump"'],
  ])("that cannot be cloned say why: %j", (messages, why) => {
    expect(problem(...messages)).toBe(why);
  });
});
