import { describe, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { expect } from "vitest";
import { type Episode, totalTokens, turnsOf } from "../../../src/domain/Episode.ts";
import * as ChatTemplate from "../../../src/model/tokenizer/ChatTemplate.ts";
import { nanoTokenizer } from "../../../src/model/tokenizer/NanoVocabulary.ts";
import * as Tokenizer from "../../../src/model/tokenizer/Tokenizer.ts";
import { conversationOf, type Encoder, encode } from "../../../src/tools/cloning/Conversation.ts";

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown, more: object = {}) => ({ role: "assistant", content, ...more });
const system = (content: string) => ({ role: "system", content });

const read = (...messages: readonly unknown[]) => conversationOf(messages);
const problem = (...messages: readonly unknown[]): string => {
  const result = read(...messages);
  return Result.isFailure(result) ? result.failure : "accepted";
};

const qwen = new URL("../../fixtures/qwen2-tokenizer", import.meta.url).pathname;

/** An encoder over a tokenizer, and its reading of ids. */
const setUp = Effect.fnUntraced(function* (tokenizer: Tokenizer.Tokenizer, limit = 1_000) {
  const chat = yield* ChatTemplate.make(tokenizer);
  const encoder: Encoder = { chat, limit };
  return { encoder, decode: tokenizer.decode };
});

const nano = Effect.flatMap(Tokenizer.make(nanoTokenizer()), (tokenizer) => setUp(tokenizer));

const encoded = (encoder: Encoder, ...messages: readonly unknown[]) =>
  encode(encoder, Result.getOrThrow(read(...messages)), 0);

const idsOf = (episode: Episode | null): readonly number[] =>
  turnsOf(episode!).flatMap(({ prompt, sampled }) => [...prompt, ...sampled.ids]);

describe("a conversation", () => {
  const chat = [system("Be short."), user("2+2?"), assistant("4"), user("And 3+3?"), assistant("6")];

  it.effect("is written with the chat template, its replies and the tokens that end them as targets", () =>
    Effect.gen(function* () {
      const { decode, encoder } = yield* setUp(yield* Tokenizer.load(qwen));
      const { cut, episode } = encoded(encoder, ...chat);
      expect(cut).toBe(0);
      expect(decode(idsOf(episode))).toBe(
        "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n4<|im_end|>\n" +
          "<|im_start|>user\nAnd 3+3?<|im_end|>\n<|im_start|>assistant\n6<|im_end|>",
      );
      expect(turnsOf(episode!).map(({ sampled }) => decode(sampled.ids))).toEqual(["4<|im_end|>", "6<|im_end|>"]);
    }),
  );

  it.effect("cannot open or close a turn with its own words", () =>
    Effect.gen(function* () {
      const { encoder } = yield* nano;
      const ids = idsOf(encoded(encoder, user("a<|im_end|>b"), assistant("c<|im_end|>d")).episode);
      expect(ids.filter((id) => id === encoder.chat.endId)).toHaveLength(1);
    }),
  );

  it.effect("is cut after the last reply that fits whole, or is none", () =>
    Effect.gen(function* () {
      const { encoder } = yield* nano;
      const whole = encoded(encoder, ...chat).episode;
      const [first] = turnsOf(whole!);
      const room = first!.prompt.length + first!.sampled.ids.length;
      const cut = encoded({ ...encoder, limit: totalTokens(whole!) - 1 }, ...chat);
      expect([cut.cut, turnsOf(cut.episode!).length, totalTokens(cut.episode!)]).toEqual([1, 1, room]);
      expect(encoded({ ...encoder, limit: room - 1 }, ...chat)).toEqual({ episode: null, cut: 2 });
    }),
  );

  it.effect("shows a reply of weight 0 and does not train on it", () =>
    Effect.gen(function* () {
      const { encoder } = yield* nano;
      const all = encoded(encoder, user("a"), assistant("b"), user("c"), assistant("d")).episode;
      const one = encoded(encoder, user("a"), assistant("b", { weight: 0 }), user("c"), assistant("d")).episode;
      expect(turnsOf(one!).map(({ reply }) => reply)).toEqual(["d"]);
      expect(idsOf(one)).toEqual(idsOf(all));
    }),
  );
});

describe("messages", () => {
  it("may be parts of text, and end with the user", () => {
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(Result.getOrThrow(read(user(parts), assistant("c"), user("d")))).toEqual({
      system: "",
      exchanges: [{ user: "ab", reply: "c", target: true }],
    });
  });

  it.each([
    [[], "expected a list of messages"],
    [[user("a")], "no reply of the assistant to clone"],
    [[user("a"), assistant("b", { weight: 0 })], "no reply of the assistant to clone"],
    [[assistant("a")], 'message 1 is of "assistant", expected user'],
    [[user("a"), user("b")], 'message 2 is of "user", expected assistant'],
    [[user("a"), assistant("b"), system("c")], 'message 3 is of "system", expected user'],
    [[user("a"), { role: "tool", content: "b" }], 'message 2 is of "tool", expected assistant'],
    [[user("a"), assistant(null)], "message 2 has no text"],
    [[user([{ type: "image_url" }]), assistant("b")], "message 1 has no text"],
    [[{ content: "a" }], "message 1 is of null, expected user"],
  ])("that cannot be cloned say why: %j", (messages, why) => {
    expect(problem(...messages)).toBe(why);
  });
});
