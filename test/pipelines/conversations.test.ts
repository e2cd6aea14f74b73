import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { describe, expect } from "vitest";
import { conversations } from "../../pipelines/conversations.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { stream } from "../../src/domain/Random.ts";
import * as Model from "../../src/model/Model.ts";
import { tinyArchitecture, tinyConfig } from "../build/tinyConfig.ts";
import { loadTokenizer } from "../model/tokenizer/conversation/fixtures.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const model = Model.randomModel(tinyArchitecture, stream({ seed: 1, purpose: "initialisation", counters: [] }));

const line = (n: number, turns = 1): string =>
  JSON.stringify({
    messages: Array.from({ length: turns }, (_, turn) => [
      { role: "user", content: `Up or down, ${n} or ${turn}?` },
      { role: "assistant", content: "Up" },
    ]).flat(),
  });

/** Reads a file with these lines; returns the message if it is refused. */
const read = (lines: readonly string[], changes: Tree = {}, name = "chats.jsonl", loaded = model) =>
  Effect.scoped(
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const path = join(dir, name);
      writeFileSync(path, lines.join("\n"));
      const config = tinyConfig(dir, { sft: { conversations: { path, ...changes } } });
      const result = yield* Effect.result(conversations(config, yield* loaded));
      return Result.isSuccess(result)
        ? { ...result.success, sentences: result.success.sentences.map((text) => text.replaceAll(path, "FILE")) }
        : result.failure.message.replaceAll(path, "FILE");
    }),
  );

const many = Array.from({ length: 60 }, (_, n) => line(n));

describe("a file of conversations", () => {
  it.effect("is split by content into those to clone and those held out, the same each time", () =>
    Effect.gen(function* () {
      const first = yield* read(many, { val_share: 0.25 });
      const again = yield* read(many.toReversed(), { val_share: 0.25 });
      if (typeof first === "string" || typeof again === "string") return expect.unreachable();
      expect(first.training.length + first.heldOut.length).toBe(60);
      expect(first.heldOut.length).toBeGreaterThan(5);
      expect(again.heldOut.length).toBe(first.heldOut.length);
      expect(first.sentences).toEqual([
        `${first.training.length} conversations of FILE, ${first.heldOut.length} held out`,
      ]);
    }),
  );

  it.effect("may have too few rows to hold any out", () =>
    Effect.gen(function* () {
      expect(yield* read([line(1)], { val_share: 0 })).toMatchObject({
        heldOut: [],
        training: [{ tag: "conversations" }],
      });
    }),
  );

  it.effect("is cut to the context or left out, with counts; other rows say what is wrong with them", () =>
    Effect.gen(function* () {
      const long = [line(1), line(2, 40), "{}", '{"messages": [{"role": "user", "content": "a"}]}'];
      const cut = yield* read(long, { val_share: 0 });
      expect(cut).toMatchObject({
        training: [{}, {}],
        sentences: [
          "2 conversations of FILE, 0 held out",
          "1 conversations are cut to the turns that fit rollout.max_model_len (200)",
          expect.stringContaining("2 of 4 rows cannot be used and are left out: FILE:3: no column"),
        ],
      });
      const left = yield* read(long, { val_share: 0, too_long: "leave_out" });
      expect(left).toMatchObject({ training: [{}] });
    }),
  );

  it.effect("may be parquet, with messages as a list or as the JSON text of one", () =>
    Effect.gen(function* () {
      const path = new URL("../env/games/dataset/fixtures/conversations.parquet", import.meta.url).pathname;
      const { training } = yield* conversations(
        tinyConfig("nowhere", { sft: { conversations: { path, val_share: 0 } } }),
        yield* model,
      );
      expect(training.map(({ sequences }) => sequences[0]?.turns[0]?.reply)).toEqual(["1", "2", "3"]);
      const text = JSON.stringify({
        chat: JSON.stringify([
          { role: "user", content: "a" },
          { role: "assistant", content: "b" },
        ]),
      });
      expect(yield* read([text], { val_share: 0, messages_key: "chat" })).toMatchObject({ training: [{}] });
    }),
  );

  it.effect("gives rows that neither offer nor call tools the same ids, whatever stands in their column of tools", () =>
    Effect.gen(function* () {
      const messages = [
        { role: "system", content: "sokoban" },
        { role: "user", content: "Up?" },
        { role: "assistant", content: "<answer>Up</answer>", tool_calls: [] },
      ];
      const rows = [{ messages }, { messages, tools: null }, { messages, tools: [] }, { messages, tools: "[]" }];
      const conversationsRead = yield* read(
        rows.map((row) => JSON.stringify(row)),
        { val_share: 0 },
      );
      if (typeof conversationsRead === "string") return expect.unreachable();
      const ids = conversationsRead.training.map(({ sequences }) =>
        sequences.flatMap(({ turns }) => turns.flatMap(({ prompt, sampled }) => [...prompt, ...sampled.ids])),
      );
      const { chat } = yield* model;
      const written = chat.encodeReply("<answer>Up</answer>");
      const expected = [...chat.opening("sokoban", "Up?", written.replyPrefix), ...written.ids, chat.endId];
      expect(ids).toEqual(rows.map(() => expected));
    }),
  );

  const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
  const called = (more: object = {}) => ({
    role: "assistant",
    content: "<think>so</think>",
    tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}", ...more } }],
  });
  const withTools = (...messages: readonly object[]) => ({ messages: [{ role: "user", content: "go" }, ...messages] });
  const looked = withTools(
    called(),
    { role: "tool", tool_call_id: "c1", content: "seen" },
    { role: "assistant", content: "<think>so</think><answer>done</answer>" },
  );

  it.effect("may offer and call tools, in a column of any name, as lists or as JSON texts", () =>
    Effect.gen(function* () {
      const rows = [
        { ...looked, kit: tools },
        { messages: JSON.stringify(looked.messages), kit: JSON.stringify(tools) },
      ];
      const found = yield* read(
        rows.map((row) => JSON.stringify(row)),
        { val_share: 0, tools_key: "kit" },
      );
      if (typeof found === "string") return expect.unreachable();
      const [first, second] = found.training.map(({ sequences }) => sequences);
      expect(first?.[0]?.turns.map(({ actions }) => actions)).toEqual([["look"], ["reply"]]);
      expect(second).toEqual(first);
    }),
  );

  it.effect.each([
    [{ ...looked }, 'messages[1].tool_calls: tools has none named "look"'],
    [{ ...looked, tools: "look" }, "tools: must be a list"],
    [{ ...looked, tools: [{ type: "web_search" }] }, "tools[0]: a tool of type"],
    [{ ...withTools(called({ name: "" })), tools }, "messages[1].tool_calls[0].function.name: must be a text"],
    [{ ...withTools(called(), { role: "tool", content: "x" }), tools }, "messages[2].tool_call_id: must be a text"],
    [
      { ...withTools(called(), { role: "user", content: "x" }, called()), tools },
      'messages[2]: the call "c1" before it',
    ],
    [{ ...withTools({ ...called(), weight: 0 }), tools }, "messages: no reply of the assistant to clone"],
  ])("names row and field of a conversation with tools that cannot be cloned: %j", ([row, why]) =>
    Effect.gen(function* () {
      const message = yield* read([JSON.stringify(row)]);
      expect(message).toMatch(/^sft\.conversations\.path: FILE: none of its 1 rows can be used; FILE:1: /);
      expect(message).toContain(why);
    }),
  );

  it.effect("leaves out what the template cannot write, with the row", () =>
    Effect.gen(function* () {
      const thought = withTools({ role: "assistant", content: "Up" });
      const rows = [line(1), JSON.stringify({ ...thought, tools })];
      // Replies of the tiny run begin with <think>.
      expect(yield* read(rows, { val_share: 0 })).toMatchObject({
        training: [{}],
        sentences: [
          "1 conversations of FILE, 0 held out",
          "1 conversations cannot be written and are left out: FILE:2: the reply does not begin with <think>, as replies of this run do",
        ],
      });
      expect(yield* read(rows.slice(1), { val_share: 0 })).toBe(
        "sft.conversations.path: FILE:1: the reply does not begin with <think>, as replies of this run do",
      );
    }),
  );

  it.live("is refused at its first row with tools where the model's template has none", () =>
    Effect.gen(function* () {
      const withoutTools = Effect.map(
        Effect.all([model, Effect.orDie(loadTokenizer("smollm2"))]),
        ([loaded, tokenizer]) => ({
          ...loaded,
          tokenizer,
        }),
      );
      const rows = [line(1), JSON.stringify({ ...looked, tools }), JSON.stringify({ ...looked, tools })];
      expect(yield* read(rows, { val_share: 0 }, "chats.jsonl", withoutTools)).toBe(
        "sft.conversations.path: FILE:2: tools cannot be offered with the chat template: it does not write the tools that are offered",
      );
      expect(yield* read([line(1)], { val_share: 0 }, "chats.jsonl", withoutTools)).toMatchObject({ training: [{}] });
    }),
  );

  it.effect("that cannot be read is bad input", () =>
    Effect.gen(function* () {
      expect(yield* read(["[]"], {}, "chats.txt")).toBe(
        "sft.conversations.path: FILE: expected a data file named .jsonl, .json, .parquet",
      );
      expect(yield* read(["{}"])).toMatch(/^sft\.conversations\.path: FILE: none of its 1 rows can be used; /);
    }),
  );
});
