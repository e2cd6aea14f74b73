/** Episodes over the templates of each family: whatever the template does with history, the ids are those that were shown and sampled. */
import { join } from "node:path";
import { describe, expect, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import { turnsOf } from "../../src/domain/Episode.ts";
import * as ChatTemplate from "../../src/model/tokenizer/ChatTemplate.ts";
import * as Tokenizer from "../../src/model/tokenizer/Tokenizer.ts";
import { play, start } from "../../src/rollout/episode.ts";
import type { Rollout } from "../../src/rollout/Rollout.ts";
import { corridor, fakePolicy, prompt, reach, rollout, training } from "./fakes.ts";

const view = {
  state: { at: 0, length: 9 },
  observation: "at 0",
  compact: "0/9",
  actions: ["Left", "Right"],
  contentKey: "",
};

/** An episode of three turns over the template of `family`, whose replies are `text` and the token `end`. */
const playEpisode = Effect.fnUntraced(function* (family: string, think: boolean, text: string, end: string) {
  const tokenizer = yield* Tokenizer.load(join(import.meta.dirname, "../fixtures/chat-templates", family));
  const idOf = (token: string) => tokenizer.added.get(token) ?? -1;
  const chat = yield* ChatTemplate.make(tokenizer, undefined, [idOf(end)]);
  const familyRollout: Rollout = {
    ...rollout({ enable_think: think, template: "compact" }),
    chat,
    decode: tokenizer.decode,
  };
  const reply = () => {
    const ids = Int32Array.from([...tokenizer.encode(text), idOf(end)]);
    const each = new Float32Array(ids.length);
    return { ids, mu: each, versions: new Int32Array(ids.length), entropies: each, finish: "stop" } as const;
  };
  const policy = fakePolicy(() => Effect.succeed(reply()));
  const layer = Layer.merge(policy.layer, corridor(() => 9).layer);
  const episode = yield* play(familyRollout, training, prompt, start(familyRollout, reach, 1, view), 0).pipe(
    Effect.provide(layer),
  );
  const ids = turnsOf(episode).flatMap(({ prompt: shown, sampled }) => [...shown, ...sampled.ids]);
  return { text: tokenizer.decode(ids), turns: turnsOf(episode), ids, tokenizer };
});

describe("an episode over a thinking template", () => {
  it.effect("keeps the thoughts that Qwen3's template would drop", () =>
    Effect.gen(function* () {
      const { text, turns } = yield* playEpisode(
        "qwen3",
        true,
        "\ngo\n</think>\n\n<answer>Right</answer>",
        "<|im_end|>",
      );
      const turn = (user: string) =>
        `<|im_start|>user\n${user}<|im_end|>\n<|im_start|>assistant\n<think>\ngo\n</think>\n\n<answer>Right</answer><|im_end|>`;
      expect(text).toBe(
        `<|im_start|>system\ncorridor<|im_end|>\n${turn("0/9\n4")}\n${turn("1/9\n3")}\n${turn("2/9\n2")}`,
      );
      expect(turns.map(({ actions, parsed }) => [parsed, ...actions])).toEqual(Array(3).fill([true, "Right"]));
    }),
  );

  it.effect("opens a thought once where R1's template opens it", () =>
    Effect.gen(function* () {
      const end = "<｜end▁of▁sentence｜>";
      const { text, turns } = yield* playEpisode("r1-distill", true, "go\n</think>\n\n<answer>Right</answer>", end);
      const turn = (user: string) =>
        `<｜User｜>${user}<｜Assistant｜><think>\ngo\n</think>\n\n<answer>Right</answer>${end}`;
      expect(text).toBe(`<｜begin▁of▁sentence｜>corridor${turn("0/9\n4")}${turn("1/9\n3")}${turn("2/9\n2")}`);
      expect(turns.every(({ parsed }) => parsed)).toBe(true);
    }),
  );

  it.effect("shows an empty thought at every turn where thoughts are off", () =>
    Effect.gen(function* () {
      const { text, turns } = yield* playEpisode("qwen3", false, "Right</answer>", "<|im_end|>");
      expect(text.split("<think>\n\n</think>\n\n<answer>Right</answer><|im_end|>")).toHaveLength(4);
      expect(turns.every(({ parsed }) => parsed)).toBe(true);
    }),
  );
});

describe("a reply that ends with another token than the template's", () => {
  it.effect("keeps that token, without its text, and the template's follows", () =>
    Effect.gen(function* () {
      const { text, turns } = yield* playEpisode("llama3", false, "Right</answer>", "<|end_of_text|>");
      expect(turns[0]?.reply).toBe("<answer>Right</answer>");
      expect(text).toContain(
        "<answer>Right</answer><|end_of_text|><|eot_id|><|start_header_id|>user<|end_header_id|>\n\n1/9\n3<|eot_id|>",
      );
    }),
  );
});
