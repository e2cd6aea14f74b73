import { describe, expect, it } from "vitest";
import { refused, resolved } from "./configs.ts";

describe("group counts", () => {
  it("follow the groups and tags that are set after them", () => {
    const text = "es_manager: { train: { env_groups: 8, tags: [Bandit], n_groups: [8] } }";
    expect(resolved(text, "es_manager.train.env_groups=4").config.es_manager.train.n_groups).toEqual([4]);
    expect(
      resolved(text, "es_manager.train.tags=[Bandit, FrozenLake, SimpleSokoban]").config.es_manager.train,
    ).toMatchObject({
      n_groups: [3, 3, 2],
    });
  });

  it("must sum to the groups when they are given", () => {
    expect(refused("", "es_manager.train.n_groups=[4]")).toBe(
      "es_manager.train.n_groups: [4] sums to 4, but es_manager.train.env_groups is 8; nearest: [8]",
    );
  });

  it("must be as many as the tags", () => {
    expect(refused("", "es_manager.train.n_groups=[4, 4]")).toContain("expected one number per tag (1); nearest: [8]");
  });

  it("need a group for each tag", () => {
    const overrides = ["es_manager.train.env_groups=1", "es_manager.train.tags=[Bandit, FrozenLake]"];
    expect(refused("", ...overrides)).toContain("es_manager.train.env_groups: 1: fewer than the 2 tags; nearest: 2");
  });
});

describe("relations between keys", () => {
  it.each([
    [
      ["es_manager.val.tags=[FrozenLak]"],
      'es_manager.val.tags: "FrozenLak" is no preset of custom_envs; nearest: FrozenLake',
    ],
    [["sft.sources=[{tag: Bandt}]"], 'sft.sources: "Bandt" is no preset of custom_envs; nearest: Bandit'],
    [["generation.top_p=0.9"], "generation.top_p: 0.9: truncated sampling"],
    [["generation.top_k=50"], "generation.top_k: 50: truncated sampling"],
    [["generation.top_k=0"], "generation.top_k: 0: expected -1"],
    [["generation.temperature=0"], "generation.temperature: 0"],
    [["trainer.gradient_analysis_only=true"], "trainer.gradient_analysis_only: true: the run would do nothing"],
    [
      ["rollout.response_length=3600"],
      "rollout.response_length: 3600: expected less than rollout.max_model_len (3600)",
    ],
    [["algorithm.adv_estimator=grpo", "es_manager.train.group_size=1"], "es_manager.train.group_size: 1: algorithm"],
    [["filter.value=0.9", "es_manager.train.group_size=1"], "es_manager.train.group_size: 1: filter.metric"],
    [
      ["generation.slots=8"],
      "generation.slots: 8: a group of es_manager.train.group_size (16) does not fit; nearest: 16",
    ],
    [["actor.ppo_mini_batch_size=256"], "actor.ppo_mini_batch_size: 256: a window has 128 episodes"],
    [["sft.architecture.heads=3"], "sft.architecture.heads: 3: expected a divisor"],
  ])("%j is refused", (overrides, start) => {
    expect(refused("", ...overrides)).toContain(start);
  });

  it("allow truncated sampling to those who accept its bias", () => {
    expect(refused("", "generation.top_p=0.9", "generation.allow_truncated_sampling=true")).toBe("accepted");
  });
});
