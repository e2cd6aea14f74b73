/** `millrace prompt` prints the same prompts that a rollout sends to its generator. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { configDir } from "../../pipelines/paths.ts";
import { boundEnvironments } from "../../pipelines/presets.ts";
import { type PromptOptions, prompt } from "../../pipelines/prompt.ts";
import { load } from "../../src/config/resolve.ts";
import * as StepPool from "../../src/env/pool/StepPool.ts";
import * as Model from "../../src/model/Model.ts";
import * as Group from "../../src/rollout/group.ts";
import * as Rollout from "../../src/rollout/Rollout.ts";
import { tasksOf } from "../../src/rollout/Task.ts";
import { promptOf } from "../build/groups.ts";
import { fakePolicy } from "../rollout/fakes.ts";

const root = join(import.meta.dirname, "../..");
/** A model's folder without weights. */
const model = mkdtempSync(join(tmpdir(), "prompt-"));
afterAll(() => rmSync(model, { recursive: true }));
for (const file of ["tokenizer.json", "tokenizer_config.json"]) {
  copyFileSync(join(root, "test/fixtures/chat-templates/smollm2", file), join(model, file));
}
const config = JSON.parse(readFileSync(join(root, "test/fixtures/qwen2-tiny/config.json"), "utf8"));
writeFileSync(join(model, "config.json"), JSON.stringify({ ...config, vocab_size: 200_000 }));

const lakes = [`model.path=${model}`, "rollout.max_turn=4", "rollout.max_model_len=4000"];
const options = { tag: "FrozenLake", seed: null, actions: ["Up", "Down || Left", "Up", "Right"], json: true };

const loaded = (overrides: readonly string[], name = "base") => load(name, [...lakes, ...overrides], configDir);

const shown = Effect.fnUntraced(function* (overrides: readonly string[], changes: Partial<PromptOptions> = {}) {
  return yield* prompt({ ...options, ...changes, config: yield* loaded(overrides) });
});

const replies = ["Up", "Down || Left", "Up", "Right"].map((answer) => `</think><answer>${answer}</answer>`);

/** The texts that a rollout appends to its chats where its generator answers so. */
const sent = Effect.fnUntraced(function* (overrides: readonly string[]) {
  const config = yield* loaded(overrides);
  const environments = yield* boundEnvironments(config, ["FrozenLake"]);
  const { chat, tokenizer } = yield* Model.loadWithoutWeights(model);
  const rollout = Rollout.make(config, tasksOf(config.custom_envs, environments), chat, tokenizer);
  let turn = 0;
  const policy = fakePolicy(() => {
    const ids = Int32Array.from([...tokenizer.encode(replies[turn++]!), chat.endId]);
    const each = new Float32Array(ids.length);
    const versions = new Int32Array(ids.length);
    return Effect.succeed({ ids, mu: each, versions, entropies: each, finish: "stop" as const });
  });
  const group = promptOf(0, 1, { tag: "FrozenLake", seed: config.es_manager.train.seed });
  const layer = Layer.merge(policy.layer, StepPool.layerInline(environments));
  yield* Effect.provide(Group.play(rollout, Rollout.trainingMode(config, new Set()), group), layer);
  return policy.requests.map(({ append }) => tokenizer.decode(append));
});

const promptsIn = (lines: readonly string[]) =>
  lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "turn");

/** On this lake no action of these tests ends the episode. */
const slow = "custom_envs.FrozenLake.env_config.success_rate=0";

describe("the prompts of an episode", () => {
  it.effect.each([
    { mode: "the whole chat", overrides: [slow] },
    {
      mode: "a window of two turns",
      overrides: [slow, "rollout.context=limited_multi_turn", "rollout.max_context_window=2"],
    },
    { mode: "turns retold", overrides: [slow, "rollout.context=single_turn", "rollout.max_context_window=2"] },
  ])("are what the generator is sent: $mode", ({ overrides }) =>
    Effect.gen(function* () {
      const texts = promptsIn(yield* shown(overrides)).map(({ text }) => text);
      expect(texts.length).toBeGreaterThan(1);
      expect(texts).toEqual((yield* sent(overrides)).slice(0, texts.length));
    }),
  );

  it.effect("count their tokens with the replies before, and name the instruction", () =>
    Effect.gen(function* () {
      const [first, second] = promptsIn(yield* shown([slow]));
      expect(first).toMatchObject({ turn: 1, from: 1, tokens: first.added });
      expect(second).toMatchObject({ turn: 2, from: null, tokens: first.tokens + first.reply.tokens + second.added });
      const text = (yield* shown([slow], { json: false })).join("\n");
      expect(text).toContain("env_instruction is shown at turn 1.");
      expect(text).toContain(
        `--- turn 1: a prompt of ${first.tokens} tokens, a new chat\n${first.text}\n--- here the model`,
      );
    }),
  );

  it.effect("end before the reply that --actions does not have", () =>
    Effect.gen(function* () {
      const lines = yield* shown([], { actions: ["nowhere"], json: false });
      const text = lines.join("\n");
      expect(text).toContain("; no legal action)");
      expect(lines.slice(-2)[0]).toMatch(/^--- here the model replies, in at most \d+ tokens$/);
      expect(lines.at(-1)).toBe("--- end: no more --actions are given");
    }),
  );

  it.effect("are those of the solver's actions, one a reply, where none are given", () =>
    Effect.gen(function* () {
      const lines = yield* shown(["custom_envs.FrozenLake.env_config.success_rate=1", "rollout.max_turn=10"], {
        actions: [],
      });
      const prompts = promptsIn(lines);
      expect(prompts.every(({ reply }) => reply.actions.length === 1)).toBe(true);
      expect(JSON.parse(lines.at(-1)!)).toMatchObject({ kind: "end", why: "success" });
    }),
  );
});

describe("a history that is cut", () => {
  it.effect.each([
    {
      by: "the window",
      overrides: ["rollout.context=limited_multi_turn", "rollout.max_context_window=2"],
      said: /turn 3: .*a new chat of turns 2 to 3; turn 1 cut \(rollout\.max_context_window=2\)/,
    },
    {
      by: "a prompt that is too long, and goes on",
      overrides: ["rollout.overflow=drop", "rollout.max_model_len=1300", "rollout.response_length=300"],
      said: /a new chat of .*; turns? 1( to \d)? cut \(rollout\.max_model_len=1300, rollout\.overflow=drop\)/,
    },
    {
      by: "a prompt that is too long, and ends",
      overrides: ["rollout.max_model_len=1300", "rollout.response_length=300"],
      said: /--- end: truncated by context: the prompt of turn [2-4] and 300 tokens .* rollout\.max_model_len=1300 \(rollout\.overflow=end\)/,
    },
  ])("is said: $by", ({ overrides, said }) =>
    Effect.gen(function* () {
      const still = [slow, ...overrides];
      expect((yield* shown(still, { actions: Array(4).fill("nowhere"), json: false })).join("\n")).toMatch(said);
    }),
  );
});

it.effect("shows an environment of one's own", () =>
  Effect.gen(function* () {
    const config = yield* load(join(root, "docs/examples/environment/lights.yaml"), [`model.path=${model}`], configDir);
    const lines = yield* prompt({ ...options, tag: null, actions: ["2 || 5"], seed: 1, config });
    const [first] = promptsIn(lines);
    expect(first.reply.actions).toEqual(["2", "5"]);
    expect(first.text).toContain("lights\nA row of lamps is shown.");
    expect(first.text).toMatch(/<\|im_start\|>user\n[01]{6}\n12<\|im_end\|>/);
  }),
);
