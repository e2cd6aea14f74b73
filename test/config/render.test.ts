import { Result } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { render } from "../../src/config/render.ts";
import { assertProperty } from "../property.ts";
import { resolved, resolving } from "./configs.ts";

const reread = (text: string) => Result.getOrThrow(resolving({ run: text }, "run", [])).config;

describe("a rendered configuration", () => {
  it("reads back equal", () => {
    const { config } = resolved("actor: { lr: 1e-7 }\nrollout: { action_sep: '# ' }");
    expect(reread(render(config))).toEqual(config);
  });

  it("stands alone: it includes nothing", () => {
    expect(render(resolved("").config)).not.toContain("defaults:");
  });

  it("keeps every number, text and preset setting exactly", () => {
    const { config } = resolved("");
    const settings = fc
      .dictionary(
        fc.string({ minLength: 1 }),
        fc.jsonValue({ depthSize: "small" }).map((value) => JSON.parse(JSON.stringify(value))),
        { maxKeys: 4 },
      )
      // The one word that is no key.
      .filter((keys) => !JSON.stringify(keys).includes('"__proto__":'));
    const property = fc.property(
      fc.double({ min: 0, minExcluded: true, max: 1, noNaN: true }),
      fc.string({ minLength: 1 }),
      fc.string(),
      settings,
      (lr, action_sep, env_instruction, env_config) => {
        const preset = { ...config.custom_envs.Bandit!, env_instruction, env_config: { ...env_config } };
        const changed = {
          ...config,
          actor: { ...config.actor, lr },
          rollout: { ...config.rollout, action_sep },
          custom_envs: { ...config.custom_envs, Bandit: preset },
        };
        expect(reread(render(changed))).toEqual(changed);
      },
    );
    assertProperty(property, { numRuns: 30 });
  });
});
