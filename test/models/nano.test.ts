import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as Model from "../../src/model/Model.ts";
import { nanoTokenizer } from "../../src/model/tokenizer/NanoVocabulary.ts";

const folder = fileURLToPath(new URL("../../config/models/nano", import.meta.url));

describe("the embedded model", () => {
  it.effect("loads as any checkpoint folder does", () =>
    Effect.gen(function* () {
      const { checkpoint, tokenizer } = yield* Model.load(folder);
      expect(checkpoint.parameters.flat.length).toBe(870_016);
      expect(checkpoint.parameters.flat.every(Number.isFinite)).toBe(true);
      expect(checkpoint.config.vocabSize).toBe(tokenizer.vocabSize);
    }),
  );

  it.effect("carries the vocabulary that cloning would give it today", () =>
    Effect.gen(function* () {
      const { checkpoint } = yield* Model.load(folder);
      expect(checkpoint.tokenizer).toEqual(nanoTokenizer());
    }),
  );
});
