/** Conversations by folders' templates, against the ids that transformers gives for all messages. */
import { afterAll, describe, expect, it } from "@effect/vitest";
import { Effect, Exit, Result, Scope } from "effect";
import * as fc from "fast-check";
import type { Conversation, Message, Tool } from "../../../../src/domain/Conversation.ts";
import * as ChatTemplate from "../../../../src/model/tokenizer/ChatTemplate.ts";
import { make } from "../../../../src/model/tokenizer/conversation/ConversationTemplate.ts";
import * as Tokenizer from "../../../../src/model/tokenizer/Tokenizer.ts";
import golden from "../../../fixtures/chat-templates/conversations.json" with { type: "json" };
import { assertProperty } from "../../../property.ts";
import { hostileTexts, loadTokenizer, tokensOf } from "./fixtures.ts";
import { assistant, call, result, say, system, user } from "./tools.ts";

const families = ["qwen2.5", "qwen3", "llama3", "tool-use", "smollm2", "r1-distill"] as const;
const toolFamilies = ["qwen2.5", "qwen3", "llama3", "tool-use"] as const;

const scope = Effect.runSync(Scope.make());
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)));

const openFamily = Effect.fnUntraced(function* (family: string) {
  const tokenizer = yield* loadTokenizer(family);
  const conversations = yield* Scope.provide(make(tokenizer), scope);
  return { tokenizer, chat: yield* ChatTemplate.make(tokenizer), conversations };
});

/** Each family's process serves all tests. */
const opened = new Map(families.map((family) => [family, Effect.runSync(Effect.cached(openFamily(family)))]));
const open = (family: (typeof families)[number]) => opened.get(family) ?? openFamily(family);

const tools: readonly Tool[] = golden.tools.map((tool) => tool.function);

type Golden = (typeof golden)["qwen3"][number];

/** The messages as a client sends them. */
const messagesOf = ({ messages }: Golden): readonly Message[] =>
  messages.map((message): Message => {
    const text = message.content;
    if (message.role === "tool") return { role: "tool", call: message.tool_call_id ?? "", text };
    if (message.role !== "assistant") return message.role === "system" ? system(text) : user(text);
    const calls = message.tool_calls ?? [];
    return assistant(text, ...calls.map(({ function: { arguments: values, name }, id }) => call(name, values, id)));
  });

/** The messages up to the last reply, and those behind it. */
const partsOf = (messages: readonly Message[]) => {
  const reply = messages.findLastIndex(({ role }) => role === "assistant");
  return { before: messages.slice(0, Math.max(0, reply)), added: messages.slice(reply + 1), hasReply: reply >= 0 };
};

describe.each(toolFamilies)("conversations with tools by the template of %s", (family) => {
  it.live("have the ids of transformers", () =>
    Effect.gen(function* () {
      const { conversations, tokenizer } = yield* open(family);
      for (const written of golden[family]) {
        const prefix = written.thinking ? "<think>" : "";
        const ids = yield* conversations.opening({ messages: messagesOf(written as Golden), tools }, prefix);
        expect([...ids]).toEqual([...written.ids, ...tokenizer.encode(prefix)]);
      }
    }).pipe(Effect.scoped),
  );

  it.live(
    "end in the bridge behind the last reply, and begin with the opening before it where nothing is rewritten",
    () =>
      Effect.gen(function* () {
        const { chat, conversations, tokenizer } = yield* open(family);
        for (const written of golden[family]) {
          const prefix = written.thinking ? "<think>" : "";
          const { added, before, hasReply } = partsOf(messagesOf(written as Golden));
          if (!hasReply) continue;
          const ids = [...written.ids, ...tokenizer.encode(prefix)];
          const bridge = [chat.endId, ...(yield* conversations.bridge(added, tools, prefix))];
          expect(ids.slice(-bridge.length)).toEqual(bridge);
          const opening = yield* conversations.opening({ messages: before, tools }, prefix);
          const isKept = conversations.rewriting(added, prefix) === undefined;
          expect(isKept ? ids.slice(0, opening.length) : [...opening]).toEqual([...opening]);
        }
      }).pipe(Effect.scoped),
  );

  it.live("have the last reply between that opening and that bridge", () =>
    Effect.gen(function* () {
      const { chat, conversations, tokenizer } = yield* open(family);
      let compared = 0;
      for (const written of golden[family]) {
        const { added, before, hasReply } = partsOf(messagesOf(written as Golden));
        const reply = messagesOf(written as Golden)[before.length];
        if (!hasReply || reply?.role !== "assistant") continue;
        const prefix = written.thinking ? "<think>" : "";
        if (conversations.rewriting(added, prefix) !== undefined) continue;
        const opening = yield* conversations.opening({ messages: before, tools }, prefix);
        const bridge = yield* conversations.bridge(added, tools, prefix);
        const ids = yield* Effect.result(conversations.reply(reply, tools, prefix));
        if (Result.isFailure(ids)) {
          // The golden conversations have replies without thoughts, which a call that asks for them cannot sample.
          expect([prefix, ids.failure]).toEqual(["<think>", expect.stringContaining("does not begin with <think>")]);
          continue;
        }
        expect(ids.success.at(-1)).toBe(chat.endId);
        expect([...opening, ...ids.success, ...bridge]).toEqual([...written.ids, ...tokenizer.encode(prefix)]);
        compared++;
      }
      expect(compared).toBe({ "qwen2.5": 5, qwen3: 3, llama3: 4, "tool-use": 5 }[family]);
    }).pipe(Effect.scoped),
  );
});

describe.each(families)("the template of %s", (family) => {
  it.live("gives a chat's own ids where there are no tools", () =>
    Effect.gen(function* () {
      const { chat, conversations, tokenizer } = yield* open(family);
      const texts = hostileTexts([...tokenizer.added.keys()]);
      const property = fc.asyncProperty(
        texts,
        texts,
        fc.constantFrom("", "<think>", "<answer>"),
        async (systemText, text, prefix) => {
          const messages = systemText === "" ? [user(text)] : [system(systemText), user(text)];
          const opening = conversations.opening({ messages, tools: [] }, prefix);
          expect(await Effect.runPromise(opening)).toEqual(chat.opening(systemText, text, prefix));
          const bridge = conversations.bridge([user(text)], [], prefix);
          expect(await Effect.runPromise(bridge)).toEqual(chat.bridge(text, prefix));
        },
      );
      yield* Effect.promise(() => assertProperty(property, { numRuns: 40 }));
    }).pipe(Effect.scoped),
  );
});

/** A conversation in which `text` stands wherever a client may put one. */
const conversationOf = (text: string): Conversation => ({
  messages: [
    system(`s${text}s`),
    user(`u${text}u`),
    assistant(`a${text}a`),
    user(text === "" ? "x" : text),
    assistant("", call("say", { [`k${text}`]: [text] })),
    result(`r${text}`),
  ],
  tools: [{ ...say, description: `d${text}`, parameters: { type: "object", properties: { [`p${text}`]: {} } } }],
});

describe.each(toolFamilies)("untrusted texts by the template of %s", (family) => {
  it.live("spell no token of turns, tools or calls, and keep their words", () =>
    Effect.gen(function* () {
      const { conversations, tokenizer } = yield* open(family);
      const isThought = (token: string) => token.includes("think");
      const tokens = [...tokenizer.added.keys()].filter((token) => !isThought(token));
      const structure = (ids: Int32Array) => tokensOf(tokenizer, ids).filter((token) => !isThought(token));
      const plainOpening = structure(yield* conversations.opening(conversationOf(""), ""));
      const plainBridge = structure(yield* conversations.bridge([result("r"), user("u")], [say], ""));
      const property = fc.asyncProperty(hostileTexts([...tokens, "</tool_call>"]), async (text) => {
        const opening = await Effect.runPromise(conversations.opening(conversationOf(text), ""));
        expect(structure(opening)).toEqual(plainOpening);
        expect(tokenizer.decode(opening)).toContain(`u${text}u`);
        const added = [result(`r${text}`), user(`u${text}u`)];
        const bridge = await Effect.runPromise(conversations.bridge(added, [say], ""));
        expect(structure(bridge)).toEqual(plainBridge);
        expect(tokenizer.decode(bridge)).toContain(`u${text}u`);
      });
      yield* Effect.promise(() => assertProperty(property, { numRuns: 40 }));
    }).pipe(Effect.scoped),
  );
});

describe("a template is append-only", () => {
  const [aUser, results, both] = [[user("x")], [result("x")], [result("x"), user("x")]];
  const thoughts = "leaves out the thoughts of earlier replies";
  const empty = "leaves out the empty thoughts of earlier replies";
  const nothing = undefined;

  it.live.each([
    ["qwen2.5", true, [nothing, nothing, nothing], [nothing, nothing, nothing]],
    ["tool-use", true, [nothing, nothing, nothing], [nothing, nothing, nothing]],
    ["smollm2", true, [nothing, nothing, nothing], [nothing, nothing, nothing]],
    ["qwen3", false, [thoughts, nothing, thoughts], [empty, empty, empty]],
    ["llama3", false, [nothing, thoughts, thoughts], [nothing, nothing, nothing]],
    ["r1-distill", false, [thoughts, nothing, thoughts], [empty, nothing, empty]],
  ] as const)("in some shapes, with thoughts and without: %s", ([family, isAppendOnly, thinking, plain]) =>
    Effect.gen(function* () {
      const { conversations } = yield* open(family);
      expect(conversations.isAppendOnly).toBe(isAppendOnly);
      for (const [prefix, reasons] of [
        ["<think>", thinking],
        ["", plain],
      ] as const) {
        for (const [at, added] of [aUser, results, both].entries()) {
          const reason = reasons[at];
          const rewriting = conversations.rewriting(added, prefix);
          if (reason === undefined) expect(rewriting).toBeUndefined();
          else expect(rewriting).toContain(reason);
        }
      }
    }).pipe(Effect.scoped),
  );
});

describe("a template that cannot write a conversation", () => {
  const two = assistant("", call("say", {}, "c1"), call("say", {}, "c2"));
  const problemOf = (family: (typeof families)[number], messages: readonly Message[]) =>
    Effect.gen(function* () {
      const { conversations } = yield* open(family);
      return yield* Effect.flip(conversations.opening({ messages, tools: [] }, ""));
    }).pipe(Effect.scoped);

  it.live("says what it raises", () =>
    Effect.gen(function* () {
      expect(yield* problemOf("llama3", [user("go"), two])).toBe(
        "the chat template cannot write these messages: This model calls one tool at once!",
      );
    }),
  );

  it.live("says which message it leaves out or moves", () =>
    Effect.gen(function* () {
      expect(yield* problemOf("llama3", [user("go"), assistant("so", call("say", {}))])).toContain(
        "it leaves out texts of message 2 (assistant with tool calls)",
      );
      expect(yield* problemOf("r1-distill", [user("go"), assistant("so"), system("be short"), user("on")])).toContain(
        "it leaves out texts of message",
      );
      const { conversations } = yield* open("r1-distill");
      const problem = yield* Effect.flip(conversations.bridge([system("be short"), user("on")], [], ""));
      expect(problem).toContain("message 1 (system)");
    }).pipe(Effect.scoped),
  );

  it.live("says so of arguments that are nested too deep", () =>
    Effect.gen(function* () {
      const deep: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
      const messages = [user("go"), assistant("", call("say", deep)), result("x")];
      expect(yield* problemOf("qwen3", messages)).toContain("Maximum call stack size exceeded");
    }),
  );

  it.live("says so of tools when it is made", () =>
    Effect.gen(function* () {
      for (const family of ["smollm2", "r1-distill"] as const) {
        const { conversations } = yield* open(family);
        expect(conversations.toolsProblem).toBe(
          "tools cannot be offered with the chat template: it does not write the tools that are offered",
        );
      }
    }).pipe(Effect.scoped),
  );
});

describe("a template of other forms", () => {
  const turns = (body: string) =>
    `{% for m in messages %}${body}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;
  const turn = "{{ '<|im_start|>' + m.role + '\\n' + m.content }}";
  const end = "{{ '<|im_end|>\\n' }}";
  const offered = "{% if tools %}{{ tools | tojson }}{% endif %}";

  const templateOf = (text: string) =>
    Effect.gen(function* () {
      const { files } = yield* loadTokenizer("smollm2");
      const tokenizer = yield* Tokenizer.make({ ...files, template: { name: "chat_template.jinja", text } });
      return yield* make(tokenizer);
    });

  it.live.each([
    [
      "that names a result's tool",
      "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{% if m.role == 'tool' %}{{ messages[loop.index0 - 1].tool_calls[0].function.name }}{% endif %}",
      "the name of a tool beside its result",
    ],
    [
      "whose calls are not read",
      "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}",
      "in a form that is not read",
    ],
    ["that writes no calls", "", "it does not write tool calls and their results"],
  ])("%s takes no tools", ([_, calls, reason]) =>
    Effect.gen(function* () {
      const { toolsProblem } = yield* templateOf(offered + turns(turn + calls + end));
      expect(toolsProblem).toContain(reason);
    }).pipe(Effect.scoped),
  );

  it.live("that rewrites what could be a token is refused", () =>
    Effect.gen(function* () {
      const rewriting = turns(turn.replace("m.content", "m.content | replace('|>', '| >')") + end);
      const { message } = yield* Effect.flip(templateOf(rewriting));
      expect(message).toContain("it rewrites texts that spell its tokens");
    }).pipe(Effect.scoped),
  );

  it.live("is ended where it loops, and written again", () =>
    Effect.gen(function* () {
      const loop =
        "{% if messages[0].content == 'loop' %}{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}{% endif %}";
      const { files } = yield* loadTokenizer("smollm2");
      const template = { name: "chat_template.jinja", text: loop + turns(turn + end) } as const;
      const tokenizer = yield* Tokenizer.make({ ...files, template });
      const conversations = yield* make(tokenizer, undefined, { ms: 2_000, megabytes: 128, characters: 10_000 });
      const opening = (text: string) => conversations.opening({ messages: [user(text)], tools: [] }, "");
      expect(yield* Effect.flip(opening("loop"))).toBe(
        "the chat template cannot write these messages: it takes longer than 2 s for one chat",
      );
      expect(tokenizer.decode(yield* opening("go"))).toContain("go<|im_end|>");
    }).pipe(Effect.scoped),
  );
});

describe("a reply", () => {
  it.live("is read in the form that the template writes calls", () =>
    Effect.gen(function* () {
      const reply = '{"name": "move", "parameters": {"steps": 1}}';
      const calls = [{ name: "move", arguments: { steps: 1 } }];
      const read = Effect.map(open("llama3"), ({ conversations }) => conversations.read);
      expect((yield* read)(reply, tools)).toEqual({ text: "", reasoning: null, calls, problems: [] });
      expect((yield* open("qwen3")).conversations.read(reply, tools)).toMatchObject({ text: reply, calls: [] });
      expect((yield* open("smollm2")).conversations.read(reply, tools)).toMatchObject({ text: reply, calls: [] });
    }).pipe(Effect.scoped),
  );
});
