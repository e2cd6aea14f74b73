import { describe, expect, it } from "vitest";
import { refused } from "./configs.ts";

describe("bad input names the key, the value and the nearest valid choice", () => {
  it("for an unknown key: the nearest key and the section's keys", () => {
    const line = refused("", "critic.lrr=1");
    expect(line).toMatch(/^critic\.lrr: unknown key \(override\); nearest: critic\.lr; keys of critic: lr, /);
  });

  it("for an unknown section: the nearest key and the sections", () => {
    expect(refused("fliter: { value: 1 }")).toMatch(
      /^fliter\.value: unknown key \(.*run\.yaml\); nearest: filter\.value; top-level sections: filter, /,
    );
  });

  it("for a key in the wrong section: where it lives", () => {
    expect(refused("", "actor.temperature=1")).toContain("nearest: generation.temperature");
  });

  it("for a misspelt key of RAGEN: RAGEN's key", () => {
    const line = refused("", "actor_rollout_ref.actor.optim.lrr=1");
    expect(line).toContain("nearest: actor_rollout_ref.actor.optim.lr;");
  });

  it("for a wrong choice: the choices, nearest first", () => {
    expect(refused("", "pipeline.mode=asink")).toBe(
      'pipeline.mode: "asink" (override): expected one of async, sync, lockstep; nearest: async',
    );
  });

  it("for a number out of range: the range", () => {
    expect(refused("", "algorithm.gamma=1.5")).toBe(
      "algorithm.gamma: 1.5 (override): expected a number from 0 to 1; nearest: 1",
    );
  });

  it("for a number at or below a bound that is not valid itself: the default", () => {
    const line = (value: string) => `actor.lr: ${value} (override): expected a number above 0; nearest: 0.000001`;
    expect(refused("", "actor.lr=-1")).toBe(line("-1"));
    expect(refused("", "actor.lr=0")).toBe(line("0"));
  });

  it("for a fraction where an integer stands: the nearest integer", () => {
    expect(refused("", "pipeline.inbox=1.5")).toBe(
      "pipeline.inbox: 1.5 (override): expected an integer of at least 1; nearest: 2",
    );
  });

  it("for a wrong type: what was expected", () => {
    expect(refused("", "actor.lr=fast")).toBe('actor.lr: "fast" (override): expected a number above 0');
    expect(refused("", "actor.grad_clip=x")).toBe('actor.grad_clip: "x" (override): expected a number of at least 0');
    expect(refused("", "filter=3")).toMatch(/^filter: 3 \(override\): expected a section with the keys metric, /);
  });

  it("for an item of a list: its place", () => {
    expect(refused("", "actor.betas=[0.9, 2]")).toContain("actor.betas.1: 2");
  });

  it("for a list of the wrong length: the length", () => {
    expect(refused("", "actor.betas=[0.9]")).toContain("actor.betas: [0.9] (override): expected a list of 2 values");
  });

  it("for an empty list: that it is empty", () => {
    expect(refused("", "es_manager.train.tags=[]")).toContain("es_manager.train.tags: []");
  });

  it("for a preset that only an override names: the nearest preset", () => {
    expect(refused("", "custom_envs.FrozenLak.env_config.success_rate=1")).toContain("nearest: FrozenLake");
  });

  it("for all problems at once, one line each", () => {
    const lines = refused("pipeline: { mode: x }", "actor.lr=-1", "critic.nope=1").split("\n");
    expect(lines.map((line) => line.split(":")[0]).sort()).toEqual(["actor.lr", "critic.nope", "pipeline.mode"]);
  });

  it("and the file or override in which a value stands", () => {
    expect(refused("actor: { lr: -1 }")).toMatch(/^actor\.lr: -1 \(.*run\.yaml\): /);
  });
});
