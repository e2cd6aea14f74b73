import { it } from "@effect/vitest";
import { Console, Effect, Result } from "effect";
import { describe, expect } from "vitest";
import { parse } from "yaml";
import { config } from "../../pipelines/config.ts";
import { decode } from "../../src/config/decode.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { resolve } from "../../src/config/resolve.ts";

const configDir = new URL("../../config", import.meta.url).pathname;

/** The command's output, or the message of its refusal. */
const printed = Effect.fnUntraced(function* (configName: string, ...overrides: readonly string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const console = {
    ...globalThis.console,
    log: (line: string) => out.push(line),
    error: (line: string) => errors.push(line),
  };
  const result = yield* Effect.result(config({ configName, overrides, envs: null })).pipe(
    Effect.provideService(Console.Console, console),
  );
  const refused = Result.isFailure(result) ? result.failure.message : null;
  return { out: out.join("\n"), errors: errors.join("\n"), refused };
});

describe("millrace config", () => {
  it.effect("prints every key as a run would have it, and nothing else", () =>
    Effect.gen(function* () {
      const { errors, out } = yield* printed("_2_sokoban", "actor.lr=0.5");
      const { config: expected } = yield* resolve("_2_sokoban", ["actor.lr=0.5"], configDir);
      expect(Result.getOrThrow(decode(RunConfig, parse(out)))).toEqual(expected);
      expect(errors).toBe("");
    }),
  );

  it.effect("says what is set aside, and that a model is not here", () =>
    Effect.gen(function* () {
      const { errors, out } = yield* printed("ragen/_2_sokoban", "ray_kwargs.ray_init.num_cpus=16");
      expect(out).toContain("path: models/Qwen2.5-3B-Instruct");
      expect(errors).toMatch(
        /^warning: 1 key is set aside[\s\S]*ray_kwargs\.ray_init\.num_cpus\nwarning: model\.path: .*no such folder here$/,
      );
    }),
  );

  it.effect("says what an absent model would be run with", () =>
    Effect.gen(function* () {
      const { errors } = yield* printed("_2_sokoban", "model_path=Qwen/Qwen2.5-3B");
      expect(errors).toContain("rollout.response_length 40");
      expect(errors).toContain("--config-name ragen/_2_sokoban");
    }),
  );

  it.effect("refuses what a run would be refused for, an environment's keys too", () =>
    Effect.gen(function* () {
      const two = yield* printed("_2_sokoban", "reward_model.enable=True", "actor.lr=-1");
      expect(two.refused?.split("\n").map((line) => line.split(":", 1)[0])).toEqual([
        "reward_model.enable",
        "actor.lr",
      ]);
      const one = yield* printed("_2_sokoban", "custom_envs.CoordSokoban.env_config.num_boxs=1");
      expect(one.refused).toContain("num_boxs: unknown key; nearest: custom_envs.CoordSokoban.env_config.num_boxes");
      expect(one.out).toBe("");
    }),
  );
});
