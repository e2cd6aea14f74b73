import { describe, expect, it } from "vitest";
import { RunConfig } from "../../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../../src/config/Tree.ts";
import { templates } from "../../../src/rollout/Rollout.ts";
import { conditionsOf, differenceOf, reasonOf, versionsOf } from "../../../src/tools/evaluation/Conditions.ts";
import { configsOf } from "../../build/config.ts";
import { reach } from "../../rollout/fakes.ts";

const configWith = configsOf(RunConfig, {
  es_manager: { val: { tags: ["Reach"], n_groups: [4], env_groups: 4 } },
  custom_envs: { Reach: { env_type: "corridor", env_config: { length: 3 } }, Other: { env_type: "x" } },
});
const longer = { custom_envs: { Reach: { env_config: { length: 4 } } } };

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
    const other = configWith({
      model: { path: "elsewhere" },
      rollout: { response_length: 9 },
      custom_envs: { Other: { env_type: "y" } },
    });
    expect(reason(configWith(), other)).toBe(null);
    expect(versions(other)).toEqual(versions(configWith()));
  });

  it("name the key that differs, with both values", () => {
    expect(reason(configWith(), configWith(longer))).toBe("custom_envs.Reach.env_config.length is 3 and 4");
    const wider = configWith({ custom_envs: { Reach: { env_config: { width: 2 } } } });
    expect(reason(configWith(), wider)).toContain("not there");
    expect(reason(configWith(), configWith({ rollout: { enable_think: false } }))).toBe(
      "rollout.enable_think is true and false",
    );
  });

  it("are those of each level, whatever levels the preset has beside them", () => {
    const levels = { near: { length: 2 }, far: { length: 9 } };
    const levelled = (changes: Tree = {}) => configWith(merge({ custom_envs: { Reach: { levels } } }, changes));
    expect(Object.keys(conditionsOf(levelled()).custom_envs)).toEqual(["Reach:near", "Reach:far"]);
    const farther = levelled({ custom_envs: { Reach: { levels: { far: { length: 10 } } } } });
    expect(reason(levelled(), farther)).toBe("custom_envs.Reach:far.env_config.length is 9 and 10");
    const one = (config: RunConfig): RunConfig =>
      merge(config, { es_manager: { val: { tags: ["Reach:near"] } } }) as RunConfig;
    expect(reason(one(levelled()), one(farther))).toBe(null);
  });

  it("name the presets where others are played", () => {
    const other = configWith({ es_manager: { val: { tags: ["Other"], n_groups: [4], env_groups: 4 } } });
    expect(reason(configWith(), other)).toBe('es_manager.val.tags is ["Reach"] and ["Other"]');
  });

  it("have another environment version where the preset differs, and the same template version", () => {
    const [a, b] = [versions(configWith()), versions(configWith(longer))];
    expect(a.environment).not.toBe(b.environment);
    expect(a.template).toBe(b.template);
  });

  it("have another template version where a text or a rule differs", () => {
    const { environment, template } = versions(configWith());
    for (const changed of [
      versions(configWith({ rollout: { template: "compact" } })),
      versions(configWith({ rollout: { max_turn: 9 } })),
      versions(configWith(), { ...reach, legend: "#: wall" }),
    ]) {
      expect(changed.environment).toBe(environment);
      expect(changed.template).not.toBe(template);
    }
  });
});
