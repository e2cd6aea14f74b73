import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { boundEnvironments, checkPresets } from "../../pipelines/presets.ts";
import { trace } from "../../pipelines/trace.ts";
import { layerInline } from "../../src/env/pool/StepPool.ts";
import * as ContentKeys from "../../src/rollout/contentKeys.ts";
import { resolved } from "../config/configs.ts";

/** The messages for the presets of a run whose training uses CoordSokoban. */
const refused = async (...overrides: readonly string[]): Promise<string> => {
  const result = await Effect.runPromise(
    Effect.result(checkPresets(resolved("", ...overrides).config, ["CoordSokoban"])),
  );
  return Result.isFailure(result) ? result.failure.message : "accepted";
};

describe("the presets of a run", () => {
  it("may name environments that are not there as long as nothing uses them", async () => {
    expect(await refused("custom_envs.Shop.env_type=nowhere")).toBe("accepted");
    expect(await refused("custom_envs.CoordSokoban.env_type=sokobn")).toMatch(
      /^custom_envs\.CoordSokoban\.env_type: "sokobn": no such environment; nearest: sokoban; all: sokoban, /,
    );
  });

  it("are all checked, each problem under its full key", async () => {
    const text = await refused(
      "custom_envs.CoordSokoban.env_config.num_boxs=1",
      "custom_envs.FrozenLake.env_config.success_rate=2",
    );
    expect(text.split("\n")).toEqual([
      expect.stringMatching(
        /^custom_envs\.CoordSokoban\.env_config\.num_boxs: unknown key; nearest: custom_envs\.CoordSokoban\.env_config\.num_boxes; /,
      ),
      "custom_envs.FrozenLake.env_config.success_rate: 2: expected a number from 0 to 1; nearest: 1",
    ]);
  });

  it("are refused in the environment's own words where keys contradict each other", async () => {
    expect(await refused("custom_envs.CoordSokoban.env_config.num_boxes=99")).toMatch(
      /^custom_envs\.CoordSokoban\.env_config\.num_boxes: 99: at most \d+ in a 6x6 room$/,
    );
  });
});

describe("a preset with images", () => {
  const key = "custom_envs.CoordSokoban.env_config.render_mode";

  it("binds, and says before a run that models here read text", async () => {
    expect(await refused(`${key}=rgb_array`)).toBe("accepted");
    const { config } = resolved("", `${key}=rgb_array`);
    const { message } = await Effect.runPromise(Effect.flip(boundEnvironments(config, ["CoordSokoban"])));
    expect(message).toMatch(
      /^custom_envs\.CoordSokoban: cannot run here: env_config\.render_mode: rgb_array shows images/,
    );
  });
});

describe("a configuration under which no instance is found", () => {
  const tag = "CoordSokoban";
  // Two boxes cannot both leave their targets in the one move that this depth allows.
  const { config } = resolved(
    "",
    ...["num_boxes=2", "search_depth=3"].map((key) => `custom_envs.${tag}.env_config.${key}`),
  );

  it("is bad input of a trace", async () => {
    const error = await Effect.runPromise(Effect.flip(trace({ config, tag, seed: 1, actions: ["Up"] })));
    expect(error.message).toMatch(/^custom_envs\.CoordSokoban\.env_config: sokoban: no playable instance in \d+ draws/);
  });

  it("is bad input of a run, before anything is played", async () => {
    const few = { ...config, es_manager: { ...config.es_manager, val: { ...config.es_manager.val, env_groups: 2 } } };
    const keys = Effect.flatMap(boundEnvironments(few, [tag]), (bound) =>
      Effect.provide(ContentKeys.validationContentKeys(few), layerInline(bound)),
    );
    const error = await Effect.runPromise(Effect.flip(keys));
    expect(error).toMatchObject({
      _tag: "BadInput",
      message: expect.stringMatching(/^es_manager\.val: no instance can be made: sokoban: no playable instance/),
    });
  });
});
