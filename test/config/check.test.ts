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
    [["trainer.gradient_analysis_group_size=1"], "trainer.gradient_analysis_group_size: 1: groups are told apart by"],
    [
      ["trainer.gradient_analysis_env_groups=65536"],
      "trainer.gradient_analysis_env_groups: 65536: 65536 groups have 1048576 episodes, more than 1000000; nearest: 62500",
    ],
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
    [
      ["actor.policy_loss=gspo"],
      "actor.loss_agg_mode: token-mean: actor.policy_loss=gspo is a mean over sequences; nearest: seq-mean-token-mean",
    ],
    [["algorithm.use_kl_in_reward=true"], "algorithm.kl_ctrl.kl_coef: 0: algorithm.use_kl_in_reward has no effect"],
    [
      ["algorithm.use_kl_in_reward=true", "algorithm.kl_ctrl.kl_coef=0.1", "algorithm.bi_level_gae=true"],
      "algorithm.use_kl_in_reward: true: algorithm.bi_level_gae passes rewards from turn to turn by their last tokens alone",
    ],
    [["actor.ref_update_freq=5"], "actor.ref_update_freq: 5: without actor.use_kl_loss or algorithm.use_kl_in_reward"],
    [
      ["rollout.enable_response_mask=false", "algorithm.bi_level_gae=true"],
      "rollout.enable_response_mask: false: algorithm.bi_level_gae",
    ],
    [
      ["rollout.enable_response_mask=false", "algorithm.correction=vtrace"],
      "rollout.enable_response_mask: false: algorithm.correction=vtrace",
    ],
    [["rollout.max_context_window=0"], "rollout.max_context_window: 0: expected -1 (all turns) or at least 1"],
    [["rollout.summary=policy"], "rollout.summary: policy: no turn is ever out of sight"],
    [
      ["rollout.context=single_turn", "rollout.summary=policy", "rollout.summary_length=3600"],
      "rollout.summary_length: 3600: expected less than rollout.max_model_len (3600)",
    ],
    [
      ["rollout.context=single_turn", "rollout.summary=facts", "rollout.train_summary=true"],
      "rollout.train_summary: true: the policy writes no summaries",
    ],
    [
      [
        "rollout.context=single_turn",
        "rollout.summary=policy",
        "rollout.train_summary=true",
        "reward.use_turn_scores=true",
      ],
      "rollout.train_summary: true: with reward.use_turn_scores",
    ],
    [
      ["es_manager.think_quality_penalty=0.1", "rollout.enable_think=false"],
      "es_manager.think_quality_penalty: 0.1: replies have no thoughts",
    ],
    [["es_manager.think_len_penalty=0.1"], "es_manager.think_len_penalty: 0.1: it needs es_manager.think_len_limit"],
    [
      ["actor.ppo_mini_batch_size=641", "rollout.context=limited_multi_turn"],
      "(8 groups of 16), 640 token sequences at most; nearest: 640",
    ],
    [
      ["model.lora.rank=8", "model.learner_device=cuda:1"],
      "model.device: cuda:1: an adapter (model.lora, model.adapter) is trained and played on cpu and webgpu; nearest: webgpu",
    ],
    [
      ["model.generator_dtype=float16"],
      "model.generator_dtype: float16: cpu generates in float32; nearest: float32, or model.generator_device=webgpu",
    ],
    [
      ["model.generator_dtype=float16", "model.generator.engine=vllm", "model.generator.urls=[http://127.0.0.1:8000]"],
      "model.generator_dtype: float16: servers generate in the format that they were started with (model.generator.engine=vllm); nearest: float32",
    ],
    [
      ["model.generator_dtype=int8", "model.generator_device=webgpu"],
      "model.generator_dtype: int8: webgpu has no products of 8-bit numbers; nearest: float32",
    ],
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
    [["algorithm.adv_estimator=rloo", "es_manager.train.group_size=1"], "compares the episodes of a group and needs"],
    [
      ["algorithm.adv_estimator=reinforce_plus_plus_baseline", "es_manager.train.group_size=1"],
      "es_manager.train.group_size: 1: algorithm.adv_estimator=reinforce_plus_plus_baseline compares",
    ],
    [
      ["algorithm.adv_estimator=brpo", "es_manager.train.group_size=1", "es_manager.train.env_groups=1"],
      "algorithm.adv_estimator=brpo compares the episodes of a window",
    ],
    [
      ["reward.use_turn_scores=true", "algorithm.adv_estimator=grpo"],
      "reward.use_turn_scores: true: algorithm.adv_estimator=grpo has one advantage per episode",
    ],
    [["reward.use_turn_scores=true", "algorithm.adv_estimator=arpo"], "reward.use_turn_scores: true"],
    [
      ["reward.use_turn_scores=true", "reward.method=mean"],
      "reward.method: mean: turn scores (reward.use_turn_scores) are never normalised; nearest: identity",
    ],
    [
      ["reward.method=mean_std", "algorithm.adv_estimator=grpo"],
      "reward.method: mean_std: algorithm.adv_estimator=grpo divides by the deviation anyway",
    ],
    [
      ["reward.method=mean_std", "reward.grouping=batch", "algorithm.adv_estimator=reinforce_plus_plus"],
      "reward.method: mean_std: algorithm.adv_estimator=reinforce_plus_plus divides",
    ],
    [["reward.method=mean", "algorithm.adv_estimator=brpo"], "reward.method: mean: algorithm.adv_estimator=brpo"],
    [["reward.method=mean", "algorithm.adv_estimator=arpo"], "within the group (reward.grouping=state) this is grpo"],
    [
      ["algorithm.soft_advantage_reweight=true"],
      "algorithm.soft_advantage_reweight: true: it is defined for grpo, and algorithm.adv_estimator is gae; nearest: false",
    ],
    [
      ["algorithm.grpo_advantage_length_weight=true", "algorithm.adv_estimator=rloo"],
      "algorithm.grpo_advantage_length_weight: true: it is defined for grpo",
    ],
    [
      ["algorithm.zero_task_advantage=true", "actor.entropy_coeff=0"],
      "algorithm.zero_task_advantage: true: without actor.entropy_coeff",
    ],
    [
      ["algorithm.correction=vtrace", "algorithm.adv_estimator=grpo"],
      "algorithm.correction: vtrace: it corrects a critic's values, and algorithm.adv_estimator=grpo has no critic",
    ],
    [["algorithm.correction=vtrace", "algorithm.gamma=0.9"], "algorithm.gamma: 0.9: algorithm.correction=vtrace"],
    [
      ["algorithm.correction=vtrace", "algorithm.bi_level_gae=true"],
      "algorithm.bi_level_gae: true: algorithm.correction=vtrace has turns as its steps",
    ],
    [
      ["algorithm.correction=icepop", "algorithm.correction_cap=0.4"],
      "algorithm.correction_floor: 0.5: above algorithm.correction_cap (0.4), no ratio is kept; nearest: 0.4",
    ],
  ])("of credit: %j is refused", (overrides, text) => {
    expect(refused("", ...overrides)).toContain(text);
  });

  it.each([
    [["reward.method=mean", "algorithm.adv_estimator=grpo"]],
    [["reward.method=mean_std", "algorithm.adv_estimator=rloo"]],
    [["reward.method=mean_std", "algorithm.adv_estimator=grpo", "algorithm.norm_adv_by_std_in_grpo=false"]],
    [["reward.method=asym_clip", "algorithm.adv_estimator=grpo"]],
    [["reward.method=mean_std", "reward.grouping=batch", "algorithm.adv_estimator=arpo"]],
    [["reward.use_turn_scores=true", "algorithm.adv_estimator=reinforce_plus_plus"]],
    [["algorithm.correction=icepop", "algorithm.correction_cap=0"]],
    [["algorithm.correction=vtrace"]],
    [["algorithm.adv_estimator=grpo", "algorithm.soft_advantage_reweight=true"]],
  ])("of credit: %j is accepted", (overrides) => {
    expect(refused("", ...overrides)).toBe("accepted");
  });

  it("allow a reference to be renewed where one is used, and a loss over sequences with a mean over them", () => {
    expect(refused("", "actor.ref_update_freq=5", "actor.use_kl_loss=true")).toBe("accepted");
    expect(refused("", "actor.policy_loss=geo_mean", "actor.loss_agg_mode=seq-mean-token-mean")).toBe("accepted");
  });

  it("allow as many sequences in a mini-batch as episodes can have", () => {
    expect(refused("", "actor.ppo_mini_batch_size=640", "rollout.context=single_turn")).toBe("accepted");
    expect(refused("", "actor.ppo_mini_batch_size=640", "rollout.overflow=drop")).toBe("accepted");
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
