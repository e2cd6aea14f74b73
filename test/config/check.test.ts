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
    [
      ["filter.percentile_low=0.5", "filter.percentile_high=0.5"],
      "filter.percentile_low: 0.5: expected less than filter.percentile_high (0.5); nearest: 0",
    ],
    [
      ["filter.strategy=within_group", "filter.include_zero=false"],
      "filter.include_zero: false: filter.strategy=within_group keeps every group; nearest: true",
    ],
    [["filter.strategy=within_group", "filter.value=2"], "filter.value: 2: filter.strategy=within_group"],
    [
      ["filter.strategy=top_k_abs", "filter.value=3", "filter.refill.target=8"],
      "filter.refill.target: 8: filter.strategy=top_k_abs keeps at most 3 groups, however many come; nearest: 3",
    ],
    [["filter.refill.target=9"], "filter.refill.target: 9: a window has es_manager.train.env_groups (8) groups"],
    [
      ["trainer.keep_best.metric=val-env/sucess"],
      'trainer.keep_best.metric: "val-env/sucess" is no metric of this run (docs/metrics.md); nearest: val-env/success',
    ],
    [["trainer.keep_best.metric=val-env/CoordSokoban/succes"], "nearest: val-env/CoordSokoban/success"],
    [["trainer.keep_best.metric=val-env/Maze/success"], "is no metric of this run"],
    [["trainer.keep_best.metric=reward"], "is no metric of this run"],
  ])("%j is refused", (overrides, start) => {
    expect(refused("", ...overrides)).toContain(start);
  });

  it.each([
    "val-env/success",
    "val-env/CoordSokoban/pass@1",
    "train/CoordSokoban/boxes_on_target",
    "response_length/mean",
    "stage/learn/busy",
  ])("let the best checkpoint follow %s", (metric) => {
    expect(refused("", `trainer.keep_best.metric=${metric}`)).toBe("accepted");
  });

  it("allow truncated sampling to those who accept its bias", () => {
    expect(refused("", "generation.top_p=0.9", "generation.allow_truncated_sampling=true")).toBe("accepted");
  });
});
