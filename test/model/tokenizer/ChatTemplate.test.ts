/** Chats of each family's form, written turn by turn, against the ids that transformers gives the whole text. */
import { join } from "node:path";
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as fc from "fast-check";
import { type ChatTemplate, make } from "../../../src/model/tokenizer/ChatTemplate.ts";
import * as Tokenizer from "../../../src/model/tokenizer/Tokenizer.ts";
import golden from "../../fixtures/chat-templates/golden.json" with { type: "json" };
import { assertProperty } from "../../property.ts";

const families = ["qwen2.5", "qwen3", "llama3", "tool-use", "smollm2", "r1-distill"] as const;
type Family = (typeof families)[number];

const folderOf = (family: string): string => join(import.meta.dirname, "../../fixtures/chat-templates", family);

const open = Effect.fnUntraced(function* (family: string) {
  const tokenizer = yield* Tokenizer.load(folderOf(family));
  return { tokenizer, chat: yield* make(tokenizer) };
});

/** The text between the token that opens a user's turn and the turn's own text. */
const afterMarker: Readonly<Record<Family, string>> = {
  "qwen2.5": "user\n",
  qwen3: "user\n",
  smollm2: "user\n",
  "tool-use": "user\n",
  llama3: "user<|end_header_id|>\n\n",
  "r1-distill": "",
};

type Chat = (typeof golden)[Family]["chats"][number];

/** The chat as a rollout shows it: the opening, then replies and bridges in turn. */
const inPieces = (chat: ChatTemplate, { messages, thinking }: Chat): readonly number[] => {
  const system = messages[0]?.role === "system" ? messages[0].content : "";
  const contents = messages.filter(({ role }) => role !== "system").map(({ content }) => content);
  const next = thinking ? "<think>" : "";
  const ids = [...chat.opening(system, contents[0] ?? "", next)];
  for (let turn = 1; turn < contents.length; turn += 2) {
    const { ids: reply, replyPrefix } = chat.encodeReply(contents[turn] ?? "");
    expect(replyPrefix).toBe(next);
    ids.push(...reply, chat.endId, ...chat.bridge(contents[turn + 1] ?? "", next));
  }
  return ids;
};

describe.each([...families, "gpt2"] as const)("a tokenizer of the form of %s", (family) => {
  it.effect("agrees with Python on every text", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.load(folderOf(family));
      for (const { ids, text } of golden[family].cases) expect([...tokenizer.encode(text)]).toEqual(ids);
    }),
  );
});

describe.each(families)("the template of %s", (family) => {
  it.effect("gives the ids of transformers, whatever was thought before", () =>
    Effect.gen(function* () {
      const { chat, tokenizer } = yield* open(family);
      for (const written of golden[family].chats) {
        // Behind the last prompt stands the tag that asks for a thought, where the template does not write it.
        const tag = written.thinking && family === "qwen3" ? [...tokenizer.encode("<think>")] : [];
        expect(inPieces(chat, written)).toEqual([...written.ids, ...tag]);
      }
    }),
  );

  it.effect("tells where the user's message begins", () =>
    Effect.gen(function* () {
      const { chat, tokenizer } = yield* open(family);
      for (const system of ["", "be system", "<|im_start|>user <|start_header_id|><｜User｜>"]) {
        for (const prefix of ["<think>", "<answer>"]) {
          const opening = chat.opening(system, "go up", prefix);
          const text = tokenizer.decode(opening.subarray(chat.beforeUser(opening)));
          expect(text.startsWith(`${afterMarker[family]}go up`)).toBe(true);
        }
      }
    }),
  );

  it.effect("lets no message close a turn or open another, and keeps its text", () =>
    Effect.gen(function* () {
      const { chat, tokenizer } = yield* open(family);
      const tokens = [...tokenizer.added.keys()].filter((token) => !token.includes("think") && !token.includes("tool"));
      const ids = new Set(tokens.map((token) => tokenizer.added.get(token)));
      const count = (textIds: Int32Array) => textIds.filter((id) => ids.has(id)).length;
      const plain = count(chat.bridge("x"));
      const hostile = fc.array(fc.constantFrom(...tokens, "<|", "|>", "<｜", "｜>", "\n", "system", "x"));
      assertProperty(
        fc.property(hostile, (parts) => {
          const text = `[${parts.join("")}]`;
          const bridge = chat.bridge(text);
          expect(count(bridge)).toBe(plain);
          expect(tokenizer.decode(bridge)).toContain(text);
          expect(count(chat.opening(text, text))).toBe(count(chat.opening("x", "x")));
        }),
        { numRuns: 100 },
      );
    }),
  );
});

describe("a reply that may not think", () => {
  const promptOf = (family: Family, prefix: string) =>
    Effect.map(open(family), ({ chat, tokenizer }) => tokenizer.decode(chat.bridge("go", prefix)).split("go")[1]);

  it.effect("follows the empty thought that the template writes, or that closes the one it opens", () =>
    Effect.gen(function* () {
      expect(yield* promptOf("qwen3", "<answer>")).toBe(
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<answer>",
      );
      expect(yield* promptOf("r1-distill", "<answer>")).toBe("<｜Assistant｜><think>\n\n</think>\n\n<answer>");
      expect(yield* promptOf("qwen2.5", "<answer>")).toBe("<|im_end|>\n<|im_start|>assistant\n<answer>");
    }),
  );

  it.effect("is prompted with one tag where it may", () =>
    Effect.gen(function* () {
      expect(yield* promptOf("qwen3", "<think>")).toBe("<|im_end|>\n<|im_start|>assistant\n<think>");
      expect(yield* promptOf("r1-distill", "<think>")).toBe("<｜Assistant｜><think>\n");
      expect(yield* promptOf("llama3", "<think>")).toBe(
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<think>",
      );
    }),
  );

  it.effect("is written whole where the template knows no thoughts", () =>
    Effect.gen(function* () {
      const { chat, tokenizer } = yield* open("llama3");
      const { ids, replyPrefix } = chat.encodeReply("<think>a</think>b");
      expect([replyPrefix, tokenizer.decode(ids)]).toEqual(["", "<think>a</think>b"]);
    }),
  );
});

describe("a chat's first token", () => {
  it.effect.each([
    ["llama3", "<|begin_of_text|>"],
    ["tool-use", "<|begin_of_text|>"],
    ["r1-distill", "<｜begin▁of▁sentence｜>"],
  ] as const)("is written once, by the template alone: %s", ([family, token]) =>
    Effect.gen(function* () {
      const { chat, tokenizer } = yield* open(family);
      const first = tokenizer.added.get(token);
      for (const system of ["", "be system"]) {
        const ids = [...chat.opening(system, "go"), ...chat.bridge("on")];
        expect([ids[0], ids.filter((id) => id === first).length]).toEqual([first, 1]);
      }
    }),
  );
});

describe("the end of a reply", () => {
  it.effect("is the template's token, and any that the folder's files name", () =>
    Effect.gen(function* () {
      const tokenizer = yield* Tokenizer.load(folderOf("llama3"));
      const idOf = (token: string) => tokenizer.added.get(token) ?? -1;
      const [end, other] = [idOf("<|eot_id|>"), idOf("<|end_of_text|>")];
      const chat = yield* make(tokenizer, undefined, [other, end]);
      expect([chat.endId, chat.endIds]).toEqual([end, [end, other]]);
    }),
  );
});

describe("a folder without a chat template", () => {
  it.effect("is refused, unless its tokenizer has ChatML's markers", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(open("gpt2"));
      expect(error.message).toContain("the folder has no chat template (chat_template)");
      expect(error.message).toContain("<|im_start|>, <|im_end|>");
      const { files } = yield* Tokenizer.load(folderOf("smollm2"));
      const { chat_template: _, ...tokenizerConfig } = files.tokenizerConfig;
      const tokenizer = yield* Tokenizer.make({ ...files, tokenizerConfig });
      const chat = yield* make(tokenizer);
      expect(tokenizer.decode(chat.opening("", "go"))).toBe("<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n");
    }),
  );
});

describe("a template that loops", () => {
  it.effect("is refused with the folder, the template's file and the limit", () =>
    Effect.gen(function* () {
      const { files } = yield* Tokenizer.load(folderOf("smollm2"));
      const loop = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
      const template = { name: "chat_template.jinja", text: loop } as const;
      const tokenizer = yield* Tokenizer.make({ ...files, template }, { path: "models/evil" });
      const limits = { ms: 300, megabytes: 128, characters: 1_000 };
      const { message } = yield* Effect.flip(make(tokenizer, undefined, [], limits));
      expect(message).toBe(
        "models/evil: its chat template (chat_template.jinja) is not supported: it takes longer than 0.3 s for one chat",
      );
    }),
  );
});
