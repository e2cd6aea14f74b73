import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { parseOverride } from "../../src/config/overrides.ts";
import { refused, resolved } from "./configs.ts";

describe("the value of an override", () => {
  it.each([
    ["1e-6", 1e-6],
    ["0.5 # half", 0.5],
    ["True", true],
    ["null", null],
    ["[8]", [8]],
    ["[a, 'b c']", ["a", "b c"]],
    ["{a: 1}", { a: 1 }],
    // As hydra writes maps.
    ["{a:1,b:{c:[x,y]}}", { a: 1, b: { c: ["x", "y"] } }],
    ["'0,1'", "0,1"],
    ["", ""],
    // Not YAML scalars: texts as they are.
    ["||", "||"],
    ["-", "-"],
    ["#", "#"],
    ["a: b", "a: b"],
    ["x=y", "x=y"],
  ])("%j is %j", (text, value) => {
    expect(Result.getOrThrow(parseOverride(`a.b=${text}`))).toEqual({ _tag: "Set", path: ["a", "b"], value });
  });

  it("that opens a list must close it", () => {
    expect(refused("", "actor.betas=[0.9,")).toContain('override "actor.betas=[0.9,": the value is not readable');
  });
});

describe("overrides", () => {
  it("win over files, the last one over the others", () => {
    expect(resolved("actor: { lr: 1 }", "actor.lr=0.2", "actor.lr=0.3").config.actor.lr).toBe(0.3);
  });

  it("may carry hydra's plus signs", () => {
    expect(resolved("", "+actor.lr=0.2", "++critic.lr=0.3").config).toMatchObject({
      actor: { lr: 0.2 },
      critic: { lr: 0.3 },
    });
  });

  it("take a key back to its default with ~", () => {
    expect(resolved("actor: { lr: 1 }", "~actor_rollout_ref.actor.optim.lr").config.actor.lr).toBe(1e-6);
  });

  it("reach into a preset's own settings", () => {
    const { config } = resolved("", "custom_envs.FrozenLake.env_config.success_rate=1.0");
    expect(config.custom_envs.FrozenLake?.env_config).toEqual({ success_rate: 1, p: 0.9 });
  });

  it("without a value are refused", () => {
    expect(refused("", "actor.lr")).toBe('override "actor.lr": expected actor.lr=value');
  });

  it("that choose from a config group of hydra are refused", () => {
    expect(refused("", "rollout@actor_rollout_ref.rollout=sglang")).toContain("config group of hydra");
  });

  it("with an empty key are refused", () => {
    expect(refused("", "actor..lr=1")).toBe('override "actor..lr=1": expected key.sub=value');
  });
});
