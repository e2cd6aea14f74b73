/** From a preset's list of wrappers to a wrapped environment, and errors that lead to the offending key. */
import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { checkPresets } from "../../../pipelines/presets.ts";
import { decodePreset } from "../../../src/env/games/registry.ts";
import { resolved } from "../../config/configs.ts";
import { problemsIn } from "../../problems.ts";
import { instanceOf } from "../contract/players.ts";
import { registry } from "../contract/presets.ts";

const refused = async (wrappers: string): Promise<string> => {
  const { config } = resolved("", `custom_envs.CoordSokoban.wrappers=${wrappers}`);
  const result = await Effect.runPromise(Effect.result(checkPresets(config, ["CoordSokoban"])));
  return Result.isFailure(result) ? result.failure.message : "accepted";
};

const at = "custom_envs.CoordSokoban.wrappers";

describe("the wrappers of a preset", () => {
  it("are applied in order, the first innermost", () => {
    const bound = (...wrappers: readonly Record<string, unknown>[]) => {
      const environment = Result.getOrThrow(
        decodePreset("Mine", { env_type: "sokoban", env_config: { num_boxes: 1 }, wrappers }, registry),
      );
      if (environment.asynchronous) throw new Error("sokoban does not wait");
      return environment.render(environment.reset(instanceOf(1), "train"));
    };
    const swap = (pattern: string, replacement: string) => ({
      type: "observation_rewrite",
      replacements: [{ pattern, replacement }],
    });
    expect(bound(swap("#", "A"), swap("A", "B"))).toBe(bound().replaceAll("#", "B"));
    expect(bound(swap("A", "B"), swap("#", "A"))).toBe(bound().replaceAll("#", "A"));
  });

  it("may be none", async () => {
    expect(resolved("").config.custom_envs.CoordSokoban!.wrappers).toEqual([]);
    expect(await refused("[]")).toBe("accepted");
    expect(await refused("[{type: time_limit, max_steps: 5}, {type: action_filter, deny: [Up]}]")).toBe("accepted");
  });

  it.each([
    ["[{type: time_limits, max_steps: 5}]", "0.type", "time_limit"],
    ["[{max_steps: 5}]", "0.type", null],
    ["[{type: time_limit}]", "0.max_steps", null],
    ["[{type: time_limit, max_steps: 0}]", "0.max_steps", "1"],
    ["[{type: time_limit, max_steps: 5}, {type: reward_shaping, scal: 2}]", "1.scal", `${at}.1.scale`],
    ["[{type: reward_shaping, clip_low: 2, clip_high: 1}]", "0.clip_low", null],
    ["[{type: observation_rewrite, replacements: [{pattern: '(', replacement: x}]}]", "0.replacements.0.pattern", null],
    ["[{type: observation_rewrite, on: [screen]}]", "0.on.0", "render"],
  ])("are refused by their full key: %s", async (wrappers, key, nearest) => {
    expect(problemsIn(await refused(wrappers))).toMatchObject([{ key: `${at}.${key}`, nearest }]);
  });

  it("of no known type are told which there are", async () => {
    expect(await refused("[{type: time_limits, max_steps: 5}]")).toContain(
      '"time_limits": no such wrapper; nearest: time_limit; all: time_limit, ',
    );
  });
});
