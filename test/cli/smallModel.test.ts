import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { describe, expect } from "vitest";
import { checkInherited } from "../../pipelines/smallModel.ts";
import { resolve } from "../../src/config/resolve.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const configDir = new URL("../../config", import.meta.url).pathname;

/** The refusal of a run file with overrides and a model folder whose tokenizer has that style; "accepted" otherwise. */
const refusal = (name: string, style: string | null, ...overrides: readonly string[]) =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      if (style !== null) {
        writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ millrace_chat_style: style }));
      }
      const { config, inherited } = yield* resolve(name, [`model.path=${folder}`, ...overrides], configDir);
      const checked = yield* Effect.result(checkInherited("model.path", folder, config.model.path, inherited));
      return Result.isFailure(checked) ? checked.failure.message.replace(JSON.stringify(folder), "FOLDER") : "accepted";
    }),
  );

describe("a large model in a run file for the small one", () => {
  it.effect("is refused, with RAGEN's own run file as the nearest", () =>
    Effect.gen(function* () {
      expect(yield* refusal("_2_sokoban", "chatml")).toBe(
        "model.path: FOLDER: config/_2_sokoban.yaml has rollout.template compact, rollout.max_model_len 640, rollout.response_length 40 for the small model; nearest: --config-name ragen/_2_sokoban, or set rollout.template, rollout.max_model_len, rollout.response_length beside model.path",
      );
    }),
  );

  it.effect("is refused for the lengths alone, too", () =>
    Effect.gen(function* () {
      const message = yield* refusal("_2_sokoban", "chatml", "rollout.template=ragen");
      expect(message).toContain("has rollout.max_model_len 640, rollout.response_length 40 for");
    }),
  );

  it.effect("is taken where the values are named beside it", () =>
    Effect.gen(function* () {
      const given = ["rollout.template=compact", "rollout.max_model_len=640", "rollout.response_length=40"];
      expect(yield* refusal("_2_sokoban", "chatml", ...given)).toBe("accepted");
    }),
  );

  it.effect("is taken in a run file that has no such values", () =>
    Effect.gen(function* () {
      expect(yield* refusal("_6_webshop", "chatml")).toBe("accepted");
      expect(yield* refusal("ragen/_2_sokoban", "chatml")).toBe("accepted");
    }),
  );
});

describe("a small model", () => {
  it.effect("goes on with the values of the small one", () =>
    Effect.gen(function* () {
      expect(yield* refusal("_4_countdown", "compact")).toBe("accepted");
    }),
  );
});
