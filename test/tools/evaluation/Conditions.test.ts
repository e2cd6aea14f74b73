import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { decode } from "../../../src/config/decode.ts";
import { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Tree } from "../../../src/config/Tree.ts";
import { templates } from "../../../src/rollout/templates.ts";
import { conditionsOf, differenceOf, reasonOf, versionsOf } from "../../../src/tools/evaluation/Conditions.ts";
import { reach } from "../../rollout/fakes.ts";

const configOf = (changes: Tree = {}, preset: Tree = {}): RunConfig =>
  Result.getOrThrow(
    decode(RunConfig, {
      es_manager: { val: { tags: ["Reach"], n_groups: [4], env_groups: 4 } },
      custom_envs: { Reach: { env_type: "corridor", env_config: { length: 3 }, ...preset }, Other: { env_type: "x" } },
      ...changes,
    }),
  );

const reason = (one: RunConfig, other: RunConfig): string | null => {
  const difference = differenceOf(conditionsOf(one), conditionsOf(other));
  return difference === null ? null : reasonOf(difference);
};

const versions = (config: RunConfig, task = reach) => {
  const { action_sep, enable_think, template } = config.rollout;
  return versionsOf(conditionsOf(config), templates[template]({ think: enable_think, separator: action_sep }), [task]);
};

describe("the conditions of an evaluation", () => {
  it("are those of presets that are played, not of the player", () => {
    const other = configOf({
      model: { path: "elsewhere" },
      rollout: { response_length: 9 },
      custom_envs: { Reach: { env_type: "corridor", env_config: { length: 3 } } },
    });
    expect(reason(configOf(), other)).toBe(null);
    expect(versions(other)).toEqual(versions(configOf()));
  });

  it("name the key that differs, with both values", () => {
    expect(reason(configOf(), configOf({}, { env_config: { length: 4 } }))).toBe(
      "custom_envs.Reach.env_config.length is 3 and 4",
    );
    expect(reason(configOf(), configOf({}, { env_config: {} }))).toContain("not there");
    expect(reason(configOf(), configOf({ rollout: { enable_think: false } }))).toBe(
      "rollout.enable_think is true and false",
    );
  });

  it("name the presets where others are played", () => {
    const other = configOf({ es_manager: { val: { tags: ["Other"], n_groups: [4], env_groups: 4 } } });
    expect(reason(configOf(), other)).toBe('es_manager.val.tags is ["Reach"] and ["Other"]');
  });

  it("have another environment version where the preset differs, and the same template version", () => {
    const [a, b] = [versions(configOf()), versions(configOf({}, { env_config: { length: 4 } }))];
    expect(a.environment).not.toBe(b.environment);
    expect(a.template).toBe(b.template);
  });

  it("have another template version where a text or a rule differs", () => {
    const { environment, template } = versions(configOf());
    for (const changed of [
      versions(configOf({ rollout: { template: "compact" } })),
      versions(configOf({ rollout: { max_turn: 9 } })),
      versions(configOf(), { ...reach, legend: "#: wall" }),
    ]) {
      expect(changed.environment).toBe(environment);
      expect(changed.template).not.toBe(template);
    }
  });
});
