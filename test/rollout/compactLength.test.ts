import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { stream } from "../../src/domain/Random.ts";
import { decodePreset } from "../../src/env/games/registry.ts";
import * as ChatTemplate from "../../src/model/tokenizer/ChatTemplate.ts";
import { nanoTokenizer } from "../../src/model/tokenizer/NanoVocabulary.ts";
import * as Tokenizer from "../../src/model/tokenizer/Tokenizer.ts";
import * as Episode from "../../src/rollout/episode.ts";
import { registry } from "../env/contract/presets.ts";
import { reach, rollout } from "./fakes.ts";

describe("a compact turn in the nano model's tokens", () => {
  for (const [type, most] of [
    ["bandit", 8],
    ["countdown", 20],
    ["frozen_lake", 24],
    ["game_2048", 28],
    ["sokoban", 48],
  ] as const) {
    it.effect(`shows ${type} in at most ${most} tokens, the markers of the chat included`, () =>
      Effect.gen(function* () {
        const tokenizer = yield* Tokenizer.make(nanoTokenizer());
        const chat = yield* ChatTemplate.make(tokenizer);
        const env_config = type === "sokoban" ? { dim_room: [6, 6], num_boxes: 1 } : {};
        const decoded = decodePreset(type, { env_type: type, env_config }, registry);
        if (decoded._tag === "Failure" || decoded.success.asynchronous) return expect.unreachable();
        const environment = decoded.success;
        const state = environment.reset(stream({ seed: 10_000, purpose: "instance", counters: [] }), "train");
        const view = {
          state,
          observation: "",
          compact: environment.compact(state),
          actions: environment.actions(state),
          contentKey: "",
        };
        const short = { ...rollout({ template: "compact" }), chat };
        const { opening } = Episode.start(short, { ...reach, kind: "" }, 0, view);
        expect(opening.length).toBeLessThanOrEqual(most);
        expect(tokenizer.decode(opening)).toContain(environment.compact(state));
      }),
    );
  }
});
