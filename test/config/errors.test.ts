import { describe, expect, it } from "vitest";
import { keyInfos } from "../../src/config/describe.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { environmentTypes, loadRegistry } from "../../src/env/games/registry.ts";
import { wrappers } from "../../src/env/wrappers/registry.ts";
import { refused, resolved } from "./configs.ts";

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
    const line = (value: string) =>
      `actor.lr: ${value} (override): expected a number above 0 and at most 1; nearest: 0.000001`;
    expect(refused("", "actor.lr=-1")).toBe(line("-1"));
    expect(refused("", "actor.lr=0")).toBe(line("0"));
  });

  it("for a fraction where an integer stands: the nearest integer", () => {
    expect(refused("", "pipeline.inbox=1.5")).toBe(
      "pipeline.inbox: 1.5 (override): expected an integer from 1 to 65536; nearest: 2",
    );
  });

  it("for a wrong type: what was expected", () => {
    expect(refused("", "actor.lr=fast")).toBe('actor.lr: "fast" (override): expected a number above 0 and at most 1');
    expect(refused("", "actor.grad_clip=x")).toBe(
      'actor.grad_clip: "x" (override): expected a number from 0 to 1000000',
    );
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

  it("for a relation between keys: both", () => {
    expect(refused("", "generation.slots=8")).toBe(
      "generation.slots: 8: a group of es_manager.train.group_size (16) does not fit; nearest: 16",
    );
  });

  it("for all problems at once, one line each", () => {
    const lines = refused("pipeline: { mode: x }", "actor.lr=-1", "critic.nope=1").split("\n");
    expect(lines.map((line) => line.split(":")[0]).sort()).toEqual(["actor.lr", "critic.nope", "pipeline.mode"]);
  });

  it("and the file or override in which a value stands", () => {
    expect(refused("actor: { lr: -1 }")).toMatch(/^actor\.lr: -1 \(.*run\.yaml\): /);
  });
});

describe("every number has a range", () => {
  /** True where a number's schema is bounded on both sides. */
  const bounded = ({ expected }: { readonly expected: string }) =>
    !/\ban? (integer|number)\b/.test(expected) || /from \S+ to \S+|above \S+ and at most \S+/.test(expected);

  it("in the run file", () => {
    expect(
      keyInfos(RunConfig)
        .filter((key) => !bounded(key))
        .map(({ key }) => key),
    ).toEqual([]);
  });

  it("in every environment and wrapper", async () => {
    const { environments } = await loadRegistry([...environmentTypes]);
    const schemas = [...environments, ...wrappers].flatMap(([type, { config }]) =>
      keyInfos(config).map((info) => ({ ...info, key: `${type}.${info.key}` })),
    );
    expect(schemas.length).toBeGreaterThan(100);
    expect(schemas.filter((key) => !bounded(key)).map(({ key, expected }) => `${key}: ${expected}`)).toEqual([]);
  });

  it.each([
    ["generation.slots=1e9", "an integer from 1 to 65536; nearest: 65536"],
    ["actor.lr=1e308", "a number above 0 and at most 1; nearest: 1"],
    ["actor.clip_ratio_high=1e20", "a number from 0 to 1000; nearest: 1000"],
    ["actor.grad_clip=1e20", "a number from 0 to 1000000; nearest: 1000000"],
    ["critic.layers=1000000", "an integer from 0 to 1024; nearest: 1024"],
    ["pipeline.step_threads=3000", "an integer from 1 to 128; nearest: 128"],
    ["actor.betas=[0.9, 1]", "a number from 0 to 0.999999; nearest: 0.999999"],
    ["pipeline.stall_ms=1e12", "an integer from 1 to 1000000000; nearest: 1000000000"],
  ])("%s: %s", (override, expected) => {
    expect(refused("", override)).toContain(`(override): expected ${expected}`);
  });

  it("RAGEN's values and the ends of the ranges are taken", () => {
    const { config } = resolved(
      "",
      "actor.lr=1e-6",
      "rollout.response_length=400",
      "generation.slots=65536",
      "actor.eps=1e-8",
    );
    expect(config.generation.slots).toBe(65_536);
  });
});

describe("sizes that are too much together are refused", () => {
  it.each([
    [
      ["es_manager.train.env_groups=65536", "es_manager.train.group_size=4096", "generation.slots=65536"],
      "es_manager.train.group_size: 4096: 65536 groups",
    ],
    [
      ["es_manager.val.env_groups=1000000", "es_manager.val.group_size=2"],
      "es_manager.val.group_size: 2: 1000000 groups",
    ],
    [
      ["sft.architecture={hidden_size: 16384, intermediate_size: 65536, layers: 1024, heads: 256}"],
      "sft.architecture: its layers",
    ],
  ])("%j", (overrides, line) => {
    expect(refused("", ...overrides)).toContain(line);
  });
});

describe("names that become paths", () => {
  it.each([
    "../../x",
    "/tmp/x",
    "a/b",
    "a\\b",
    "..",
    ".",
    ".hidden",
    "-rf",
    "a\u0007b",
    "x".repeat(201),
    "é".repeat(101),
    "a\u0000b",
  ])("run.name may not be %j", (name) => {
    expect(refused("", `run.name=${JSON.stringify(name)}`)).toMatch(
      /^run\.name: .*expected the name of one folder: .*; nearest: /,
    );
  });

  it.each(["quickstart", "a.b_c-1", "été", "x".repeat(200), "with space"])("run.name may be %j", (name) => {
    expect(resolved("", `run.name=${name}`).config.run.name).toBe(name);
  });

  it("names a name that may be taken", () => {
    expect(refused("", "run.name=../../x y")).toContain("nearest: x-y");
  });

  it.each(["run.dir", "model.path", "sft.output", "sft.init"])("%s may be any path, but no other text", (key) => {
    expect(refused("", `${key}=../../elsewhere`)).toBe("accepted");
    expect(refused("", `${key}="a\\0b"`)).toContain("expected a path of at most 4000 bytes without control characters");
    expect(refused("", `${key}=${"x/".repeat(3_000)}`)).toContain("expected a path");
  });

  it("tags have no control characters and are not longer than a line", () => {
    expect(refused(String.raw`custom_envs: { "a\eb": { env_type: bandit } }`)).toContain(
      'custom_envs: "a\\u001bb": a tag has',
    );
    expect(refused("", "generation.temperature=1e-300")).toContain("expected at least 0.01");
  });
});
