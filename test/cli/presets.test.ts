import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { checkPresets } from "../../pipelines/presets.ts";
import { resolved } from "../config/configs.ts";

/** The messages for the presets of a run whose training uses CoordSokoban. */
const refused = (...overrides: readonly string[]): string => {
  const result = Effect.runSync(Effect.result(checkPresets(resolved("", ...overrides).config, ["CoordSokoban"])));
  return Result.isFailure(result) ? result.failure.message : "accepted";
};

describe("the presets of a run", () => {
  it("may name environments that are not there as long as nothing uses them", () => {
    expect(refused("custom_envs.Shop.env_type=webshop")).toBe("accepted");
    expect(refused("custom_envs.CoordSokoban.env_type=sokobn")).toBe(
      'custom_envs.CoordSokoban.env_type: "sokobn": no such environment; nearest: sokoban; all: sokoban, bandit, frozen_lake',
    );
  });

  it("are all checked, each problem under its full key", () => {
    const lines = refused(
      "custom_envs.CoordSokoban.env_config.num_boxs=1",
      "custom_envs.FrozenLake.env_config.success_rate=2",
    ).split("\n");
    expect(lines).toEqual([
      expect.stringMatching(
        /^custom_envs\.CoordSokoban\.env_config\.num_boxs: unknown key; nearest: custom_envs\.CoordSokoban\.env_config\.num_boxes; /,
      ),
      "custom_envs.FrozenLake.env_config.success_rate: 2: expected a number from 0 to 1; nearest: 1",
    ]);
  });

  it("are refused in the environment's own words where keys contradict each other", () => {
    expect(refused("custom_envs.CoordSokoban.env_config.num_boxes=99")).toMatch(
      /^custom_envs\.CoordSokoban\.env_config\.num_boxes: 99: at most \d+ in a 6x6 room$/,
    );
  });
});
