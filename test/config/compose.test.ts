import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { load } from "../../src/config/resolve.ts";
import { resolved, resolving, withConfigs } from "./configs.ts";

const message = (texts: Readonly<Record<string, string>>, name = "run"): string => {
  const result = resolving(texts, name, []);
  return Result.isFailure(result) ? result.failure.message : "accepted";
};

describe("files", () => {
  it("without keys give RAGEN's values", () => {
    const { config } = resolved("");
    expect(config.actor).toMatchObject({
      lr: 1e-6,
      clip_ratio_low: 0.2,
      clip_ratio_high: 0.28,
      ppo_mini_batch_size: 32,
    });
    expect(config.es_manager.train).toMatchObject({ env_groups: 8, group_size: 16, tags: ["CoordSokoban"] });
    expect(config.filter).toMatchObject({ strategy: "top_p", value: 1, include_zero: true });
  });

  it("win over the files they include, key by key", () => {
    const { config } = resolved("custom_envs: { FrozenLake: { env_config: { success_rate: 1 } } }");
    expect(config.custom_envs.FrozenLake?.env_config).toEqual({ success_rate: 1, p: 0.9 });
  });

  it("replace lists instead of merging them", () => {
    expect(resolved("generation: { stop: [a] }").config.generation.stop).toEqual(["a"]);
  });

  it("give way to what follows _self_", () => {
    const late = { late: "actor: { lr: 1 }", run: "defaults: [base, _self_, late]\nactor: { lr: 2 }" };
    expect(Result.getOrThrow(resolving(late, "run", [])).config.actor.lr).toBe(1);
  });

  it("may leave a section empty", () => {
    expect(resolved("filter:\nes_manager:\n  train:\n").config.filter.value).toBe(1);
  });

  it("of RAGEN may include veRL's trainer file", () => {
    expect(message({ run: "defaults: [ppo_trainer, base]" })).toBe("accepted");
  });

  it("may be named by their path", () => {
    const run = "defaults: [base]\nactor: { lr: 0.3 }";
    const lr = withConfigs({ run }, (dir) => Effect.runSync(load(`${dir}/run.yaml`, [], "/nowhere")).actor.lr);
    expect(lr).toBe(0.3);
  });
});

describe("a file that cannot be used", () => {
  it("is refused with the nearest name when it does not exist", () => {
    expect(message({ quick: "" }, "bsae")).toMatch(/no run file "bsae" in .*; nearest: base; all: quick$/);
  });

  it("lists the runs of the folder, without base and envs, which run files include", () => {
    const problem = message({ quick: "", slow: "" }, "quik");
    expect(problem).toMatch(/; nearest: quick; all: quick, slow$/);
  });

  it("is refused with the nearest path beside it when a path does not exist", () => {
    const problem = withConfigs({ lights: "defaults: [base]" }, (dir) =>
      Effect.runSync(Effect.flip(load(`${dir}/light.yaml`, [], "/nowhere"))).message.replaceAll(dir, "DIR"),
    );
    expect(problem).toBe('no run file "DIR/light.yaml"; nearest: DIR/lights.yaml');
  });

  it("is refused with the nearest name when it includes one that does not exist", () => {
    expect(message({ run: "defaults: [bas]" })).toMatch(/nearest: base; all: base, .*envs/);
  });

  it("is refused with line and column when it is not YAML", () => {
    expect(message({ run: "actor:\n  lr: [1\n" })).toMatch(/run\.yaml:3:1: not valid YAML/);
  });

  it("is refused when a key stands twice", () => {
    expect(message({ run: "actor: {}\nactor: {}\n" })).toMatch(/run\.yaml:2:1: .*unique/);
  });

  it("is refused when it includes itself", () => {
    expect(message({ run: "defaults: [other]", other: "defaults: [run]" })).toContain("includes itself");
  });

  it("may choose for hydra's own machinery, but from no config group", () => {
    expect(message({ run: "defaults: [base, override hydra/job_logging: disabled]" })).toBe("accepted");
    expect(message({ run: 'defaults: ["rollout@actor_rollout_ref.rollout": vllm, base]' })).toContain(
      'defaults: {"rollout@actor_rollout_ref.rollout":"vllm"}: expected a list of run file names; there are no config groups',
    );
  });

  it("of a folder of the package is refused with the nearest there", () => {
    const configDir = new URL("../../config", import.meta.url).pathname;
    const problem = Effect.runSync(Effect.flip(load("ragen/_2_sokobn", [], configDir))).message;
    expect(problem).toBe('no run file "ragen/_2_sokobn"; nearest: ragen/_2_sokoban');
  });

  it("is refused when it is a list", () => {
    expect(message({ run: "- 1" })).toContain("expected a map of sections");
  });
});
