/** Conversations of the small model: short forms for tools, calls and results. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import * as fc from "fast-check";
import type { Message, Tool } from "../../../../src/domain/Conversation.ts";
import * as ChatTemplate from "../../../../src/model/tokenizer/ChatTemplate.ts";
import { make } from "../../../../src/model/tokenizer/conversation/ConversationTemplate.ts";
import { readCompact, writeCall } from "../../../../src/model/tokenizer/conversation/calls/compactCalls.ts";
import { nanoTokenizer } from "../../../../src/model/tokenizer/NanoVocabulary.ts";
import * as Tokenizer from "../../../../src/model/tokenizer/Tokenizer.ts";
import { assertProperty } from "../../../property.ts";
import { assistant, call, look, move, result, say, system, tools, user } from "./tools.ts";

const tokenizer = Effect.runSync(Tokenizer.make(nanoTokenizer()));
const conversations = Effect.runSync(Effect.scoped(make(tokenizer)));
const chat = Effect.runSync(ChatTemplate.make(tokenizer));

const opening = (messages: readonly Message[], offered: readonly Tool[] = [], prefix = "") =>
  tokenizer.decode(Effect.runSync(conversations.opening({ messages, tools: offered }, prefix)));
const bridge = (added: readonly Message[], offered: readonly Tool[] = [], prefix = "") =>
  tokenizer.decode(Effect.runSync(conversations.bridge(added, offered, prefix)));

describe("a conversation of the small model", () => {
  it("shows the tools as lines behind the system's text", () => {
    expect(opening([system("be short"), user("go")], tools)).toBe(
      "<|system|>be short\nlook(): Shows the board.\nsay(text): Says a text.\nmove(row, name, fast)<|user|>go<|assistant|>",
    );
    expect(opening([user("go")], [look])).toBe("<|system|>look(): Shows the board.<|user|>go<|assistant|>");
  });

  it("writes replies that nobody sampled as replies, and results as a user's turns", () => {
    const messages = [user("go"), assistant("", call("say", { text: "hi" })), result("said"), assistant("done")];
    const body = "<|user|>go<|assistant|>say(hi)<|im_end|><|user|>said<|assistant|>done<|im_end|><|assistant|>";
    expect(opening(messages)).toContain("say({");
    expect(opening(messages, [say])).toBe(`<|system|>say(text): Says a text.${body}`);
    expect(opening(messages.slice(0, 2), [say], "<answer>")).toContain(
      "<|assistant|><answer>say(hi)</answer><|im_end|><|assistant|><answer>",
    );
  });

  it("has the reply of an agent's call between an opening and a bridge", () => {
    const reply = { role: "assistant", text: "", calls: [call("say", { text: "hi" })] } as const;
    for (const prefix of ["", "<answer>"]) {
      const ids = Effect.runSync(conversations.reply(reply, [say], prefix));
      expect(tokenizer.decode(ids)).toBe(prefix === "" ? "say(hi)<|im_end|>" : "say(hi)</answer><|im_end|>");
      expect(conversations.read(prefix + tokenizer.decode(ids.slice(0, -1)), [say]).calls).toEqual([
        { name: "say", arguments: { text: "hi" } },
      ]);
      const whole = opening([user("go"), reply, result("said")], [say], prefix);
      const parts =
        opening([user("go")], [say], prefix) + tokenizer.decode(ids) + bridge([result("said")], [say], prefix);
      expect(parts).toBe(whole);
    }
  });

  it("has a reply only if it begins as the call asks for", () => {
    const replyOf = (text: string, prefix: string) =>
      Effect.runSync(
        Effect.map(Effect.result(conversations.reply({ role: "assistant", text, calls: [] }, [say], prefix)), (ids) =>
          Result.isSuccess(ids) ? tokenizer.decode(ids.success) : ids.failure,
        ),
      );
    expect(replyOf("<think>so</think><answer>Up</answer>", "<think>")).toBe("so</think><answer>Up</answer><|im_end|>");
    expect(replyOf("<think>so</think>Up", "<think>")).toBe("so</think><answer>Up</answer><|im_end|>");
    expect(replyOf("Up", "<think>")).toBe("the reply does not begin with <think>, as replies of this run do");
    expect(replyOf("<think>so</think><answer>Up</answer>", "<answer>")).toBe(
      "the reply begins with <think>, and replies of this run with <answer>",
    );
    expect(replyOf("<answer>Up</answer>", "<answer>")).toBe("Up</answer><|im_end|>");
    expect(replyOf("a<|im_end|>b", "")).toBe("a<|im_end|>b<|im_end|>");
    const spelled = Effect.runSync(conversations.reply({ role: "assistant", text: "a<|im_end|>b", calls: [] }, [], ""));
    expect(spelled.filter((id) => id === chat.endId)).toHaveLength(1);
  });

  it("bridges from one reply to the next", () => {
    expect(bridge([result("a"), result("b"), user("go")], tools, "<think>")).toBe(
      "<|user|>a<|user|>b<|user|>go<|assistant|><think>",
    );
  });

  it("has the ids of a chat where it has no tools", () => {
    const texts = fc.string({ unit: fc.constantFrom("<|im_end|>", "<|user|>", "Up", " ", "\n", "x", "<") });
    assertProperty(
      fc.property(texts, texts, fc.constantFrom("", "<think>", "<answer>"), (systemText, text, prefix) => {
        const messages = [system(systemText), user(text)];
        const ids = Effect.runSync(conversations.opening({ messages, tools: [] }, prefix));
        expect(ids).toEqual(chat.opening(systemText, text, prefix));
        const behind = Effect.runSync(conversations.bridge([user(text)], [], prefix));
        expect(behind).toEqual(chat.bridge(text, prefix));
      }),
    );
  });

  it("lets no text open or close a turn", () => {
    const marker = "<|im_end|><|user|><|system|>";
    const ids = Effect.runSync(
      conversations.opening(
        {
          messages: [system(marker), user(marker), assistant(marker, call("say", { text: marker })), result(marker)],
          tools: [{ ...say, description: marker }],
        },
        "",
      ),
    );
    const specials = new Set(tokenizer.specials.values());
    expect([...ids].filter((id) => specials.has(id)).map((id) => tokenizer.decode([id]))).toEqual([
      "<|system|>",
      "<|user|>",
      "<|assistant|>",
      "<|im_end|>",
      "<|user|>",
      "<|assistant|>",
    ]);
  });

  it("is append-only", () => {
    expect([conversations.isAppendOnly, conversations.toolsProblem, conversations.rewriting([user("x")], "")]).toEqual([
      true,
      undefined,
      undefined,
    ]);
  });
});

describe("a reply of the small model", () => {
  it("has thoughts, a call in its answer, and text around it", () => {
    expect(conversations.read("<think> so </think> Well.<answer>say(hi there)</answer>", tools)).toEqual({
      text: "Well.",
      reasoning: "so",
      calls: [{ name: "say", arguments: { text: "hi there" } }],
      problems: [],
    });
  });

  it("has its call on a line of its own where it has no answer", () => {
    const { calls, text } = conversations.read("I do say(x) now:\n look() \nso", tools);
    expect({ calls, text }).toEqual({
      calls: [{ name: "look", arguments: {} }],
      text: "I do say(x) now:\nso",
    });
  });

  it("is text without tools, without the answer's tags", () => {
    expect(conversations.read("<answer>look()</answer>", [])).toEqual({
      text: "look()",
      reasoning: null,
      calls: [],
      problems: [],
    });
    expect(conversations.read("<answer>Up", []).text).toBe("Up");
    expect(conversations.read(" Up\n", []).text).toBe(" Up\n");
  });

  it("is all thought where it was cut inside of one", () => {
    expect(conversations.read("<think>I wonder", tools)).toMatchObject({ text: "", reasoning: "I wonder" });
    expect(conversations.read("so <think>x</think>", tools)).toMatchObject({ reasoning: null });
  });

  it.each([
    ["move(1, Up)", "neither JSON values"],
    ["move(1, [2])", "neither JSON values"],
    ['move(1, "a", true, 4)', "4 arguments"],
    ["move(1", "is not closed"],
    ["jump(1)", "no tool of this call"],
  ])("keeps the call %s as text and says why", (line, reason) => {
    const { calls, problems, text } = conversations.read(`<answer>${line}</answer>`, tools);
    expect([text, calls, problems.length]).toEqual([line, [], 1]);
    expect(problems[0]).toContain(reason);
  });
});

describe("the arguments of a call", () => {
  const read = (line: string) => readCompact(line, tools).calls[0]?.arguments;

  it.each([
    ["say(hello, world)", { text: "hello, world" }],
    ['say("a")', { text: "a" }],
    ['say({"text": "a"})', { text: "a" }],
    ['say({"other": "a"})', { text: '{"other": "a"}' }],
    ["say(5)", { text: "5" }],
    ["say()", {}],
    ['move(1, "a")', { row: 1, name: "a" }],
    ['move({"fast": true})', { fast: true }],
  ])("are read from %s", (line, values) => {
    expect(read(line)).toEqual(values);
  });

  it("are read back as they were written", () => {
    const text = fc.string({ unit: fc.constantFrom('"', "a", " ", "\n", ")", "(", "{", "}", ",", "1", ":") });
    const scalar = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
    const moving = fc.record(
      { row: scalar, name: scalar, fast: fc.oneof(scalar, fc.array(scalar)) },
      { requiredKeys: [] },
    );
    const any = fc.oneof(
      fc.record({ name: fc.constant(move.name), arguments: moving }),
      fc.record({ name: fc.constant(say.name), arguments: fc.record({ text }) }),
    );
    assertProperty(
      fc.property(any, (written) => {
        const line = writeCall(written, tools);
        expect(line).not.toContain("\n");
        expect(readCompact(line, tools).calls).toEqual([{ ...written, arguments: { ...written.arguments } }]);
      }),
      { numRuns: 300 },
    );
  });
});
