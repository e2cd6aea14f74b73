import { describe, expect, it } from "vitest";
import { type Problem, problemsIn } from "../problems.ts";
import { refused, resolved } from "./configs.ts";

/** Overrides, the key that is refused with its nearest choice, and another key that the sentence names. */
type Refused = readonly [overrides: readonly string[], key: string, nearest: string | null, other?: string];

const expectRefused = (...[overrides, key, nearest, other = ""]: Refused): void => {
  const problem: Problem = { key, nearest, text: expect.stringContaining(other) };
  expect(problemsIn(refused("", ...overrides))).toContainEqual(problem);
};

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
    expectRefused(["es_manager.train.n_groups=[4]"], "es_manager.train.n_groups", "[8]", "es_manager.train.env_groups");
  });

  it("must be as many as the tags", () => {
    expectRefused(["es_manager.train.n_groups=[4, 4]"], "es_manager.train.n_groups", "[8]");
  });

  it("need a group for each tag", () => {
    const overrides = ["es_manager.train.env_groups=1", "es_manager.train.tags=[Bandit, FrozenLake]"];
    expectRefused(overrides, "es_manager.train.env_groups", "2");
  });
});

describe("relations between keys", () => {
  it.for<Refused>([
    [["es_manager.val.tags=[FrozenLak]"], "es_manager.val.tags", "FrozenLake"],
    [["sft.sources=[{tag: Bandt}]"], "sft.sources", "Bandit"],
    [["generation.top_p=0.9"], "generation.top_p", "1, or set generation.allow_truncated_sampling=true"],
    [["generation.top_k=50"], "generation.top_k", "-1, or set generation.allow_truncated_sampling=true"],
    [["generation.top_k=0"], "generation.top_k", "-1"],
    [["generation.temperature=0"], "generation.temperature", "1"],
    [["trainer.gradient_analysis_group_size=1"], "trainer.gradient_analysis_group_size", "2"],
    [["trainer.gradient_analysis_env_groups=65536"], "trainer.gradient_analysis_env_groups", "62500"],
    [["trainer.gradient_analysis_only=true"], "trainer.gradient_analysis_only", "false"],
    [["rollout.response_length=3600"], "rollout.response_length", "3599", "rollout.max_model_len"],
    [
      ["algorithm.adv_estimator=grpo", "es_manager.train.group_size=1"],
      "es_manager.train.group_size",
      "2",
      "algorithm.adv_estimator=grpo",
    ],
    [["filter.value=0.9", "es_manager.train.group_size=1"], "es_manager.train.group_size", "2", "filter.metric"],
    [["generation.slots=8"], "generation.slots", "16", "es_manager.train.group_size"],
    [["actor.ppo_mini_batch_size=256"], "actor.ppo_mini_batch_size", "128"],
    [["actor.policy_loss=custom"], "actor.custom_loss", "./loss.ts", "actor.policy_loss=custom"],
    [["actor.custom_loss=./loss.ts"], "actor.policy_loss", "custom", "actor.custom_loss"],
    [["algorithm.adv_estimator=custom"], "algorithm.custom_estimator", "./estimator.ts", "algorithm.adv_estimator"],
    [["algorithm.custom_estimator=./my.ts"], "algorithm.adv_estimator", "custom", "algorithm.custom_estimator"],
    [["actor.policy_loss=gspo"], "actor.loss_agg_mode", "seq-mean-token-mean", "actor.policy_loss=gspo"],
    [["algorithm.use_kl_in_reward=true"], "algorithm.kl_ctrl.kl_coef", "0.001", "algorithm.use_kl_in_reward"],
    [
      ["algorithm.use_kl_in_reward=true", "algorithm.kl_ctrl.kl_coef=0.1", "algorithm.bi_level_gae=true"],
      "algorithm.use_kl_in_reward",
      "false, with actor.use_kl_loss",
      "algorithm.bi_level_gae",
    ],
    [["actor.ref_update_freq=5"], "actor.ref_update_freq", "0", "actor.use_kl_loss"],
    [
      ["rollout.enable_response_mask=false", "algorithm.bi_level_gae=true"],
      "rollout.enable_response_mask",
      "true",
      "algorithm.bi_level_gae",
    ],
    [
      ["rollout.enable_response_mask=false", "algorithm.correction=vtrace"],
      "rollout.enable_response_mask",
      "true",
      "algorithm.correction=vtrace",
    ],
    [["rollout.max_context_window=0"], "rollout.max_context_window", "1"],
    [["rollout.summary=policy"], "rollout.summary", "none"],
    [
      ["rollout.context=single_turn", "rollout.summary=policy", "rollout.summary_length=3600"],
      "rollout.summary_length",
      "3599",
      "rollout.max_model_len",
    ],
    [
      ["rollout.context=single_turn", "rollout.summary=facts", "rollout.train_summary=true"],
      "rollout.train_summary",
      "false",
    ],
    [
      [
        "rollout.context=single_turn",
        "rollout.summary=policy",
        "rollout.train_summary=true",
        "reward.use_turn_scores=true",
      ],
      "rollout.train_summary",
      "false",
      "reward.use_turn_scores",
    ],
    [["es_manager.think_quality_penalty=0.1", "rollout.enable_think=false"], "es_manager.think_quality_penalty", "0"],
    [["es_manager.think_len_penalty=0.1"], "es_manager.think_len_penalty", "0", "es_manager.think_len_limit"],
    [["actor.ppo_mini_batch_size=641", "rollout.context=limited_multi_turn"], "actor.ppo_mini_batch_size", "640"],
    [["model.lora.rank=8", "model.learner_device=cuda:1"], "model.device", "webgpu", "model.lora"],
    [["model.generator_dtype=float16"], "model.generator_dtype", "float32, or model.generator_device=webgpu"],
    [
      ["model.generator_dtype=float16", "model.generator.engine=vllm", "model.generator.urls=[http://127.0.0.1:8000]"],
      "model.generator_dtype",
      "float32",
      "model.generator.engine=vllm",
    ],
    [["model.generator_dtype=int8", "model.generator_device=webgpu"], "model.generator_dtype", "float32"],
    [["sft.architecture.heads=3"], "sft.architecture.heads", null],
    [
      ["filter.percentile_low=0.5", "filter.percentile_high=0.5"],
      "filter.percentile_low",
      "0",
      "filter.percentile_high",
    ],
    [
      ["filter.strategy=within_group", "filter.include_zero=false"],
      "filter.include_zero",
      "true",
      "filter.strategy=within_group",
    ],
    [["filter.strategy=within_group", "filter.value=2"], "filter.value", "1", "filter.strategy=within_group"],
    [
      ["filter.strategy=top_k_abs", "filter.value=3", "filter.refill.target=8"],
      "filter.refill.target",
      "3",
      "filter.strategy=top_k_abs",
    ],
    [["filter.refill.target=9"], "filter.refill.target", "8", "es_manager.train.env_groups"],
    [["trainer.keep_best.metric=val-env/sucess"], "trainer.keep_best.metric", "val-env/success"],
    [
      ["trainer.keep_best.metric=val-env/CoordSokoban/succes"],
      "trainer.keep_best.metric",
      "val-env/CoordSokoban/success",
    ],
    [["trainer.keep_best.metric=val-env/Maze/success"], "trainer.keep_best.metric", "val-env/success"],
  ])("%j is refused", (row) => expectRefused(...row));

  it("want a metric of this run for the best checkpoint", () => {
    expect(refused("", "trainer.keep_best.metric=reward")).toContain("is no metric of this run");
  });

  it.for<Refused>([
    [
      ["algorithm.adv_estimator=rloo", "es_manager.train.group_size=1"],
      "es_manager.train.group_size",
      "2",
      "algorithm.adv_estimator=rloo",
    ],
    [
      ["algorithm.adv_estimator=reinforce_plus_plus_baseline", "es_manager.train.group_size=1"],
      "es_manager.train.group_size",
      "2",
      "algorithm.adv_estimator=reinforce_plus_plus_baseline",
    ],
    [
      ["algorithm.adv_estimator=brpo", "es_manager.train.group_size=1", "es_manager.train.env_groups=1"],
      "es_manager.train.group_size",
      "2",
      "algorithm.adv_estimator=brpo",
    ],
    [
      ["reward.use_turn_scores=true", "algorithm.adv_estimator=grpo"],
      "reward.use_turn_scores",
      "false, or gae",
      "algorithm.adv_estimator=grpo",
    ],
    [["reward.use_turn_scores=true", "algorithm.adv_estimator=arpo"], "reward.use_turn_scores", "false, or gae"],
    [["reward.use_turn_scores=true", "reward.method=mean"], "reward.method", "identity", "reward.use_turn_scores"],
    [
      ["reward.method=mean_std", "algorithm.adv_estimator=grpo"],
      "reward.method",
      "identity",
      "algorithm.adv_estimator=grpo",
    ],
    [
      ["reward.method=mean_std", "reward.grouping=batch", "algorithm.adv_estimator=reinforce_plus_plus"],
      "reward.method",
      "identity",
      "algorithm.adv_estimator=reinforce_plus_plus",
    ],
    [
      ["reward.method=mean", "algorithm.adv_estimator=brpo"],
      "reward.method",
      "identity",
      "algorithm.adv_estimator=brpo",
    ],
    [["reward.method=mean", "algorithm.adv_estimator=arpo"], "reward.method", "identity", "reward.grouping=state"],
    [
      ["algorithm.soft_advantage_reweight=true"],
      "algorithm.soft_advantage_reweight",
      "false",
      "algorithm.adv_estimator",
    ],
    [
      ["algorithm.grpo_advantage_length_weight=true", "algorithm.adv_estimator=rloo"],
      "algorithm.grpo_advantage_length_weight",
      "false",
      "algorithm.adv_estimator",
    ],
    [
      ["algorithm.zero_task_advantage=true", "actor.entropy_coeff=0"],
      "algorithm.zero_task_advantage",
      "false",
      "actor.entropy_coeff",
    ],
    [
      ["algorithm.correction=vtrace", "algorithm.adv_estimator=grpo"],
      "algorithm.correction",
      "tis, or gae",
      "algorithm.adv_estimator=grpo",
    ],
    [["algorithm.correction=vtrace", "algorithm.gamma=0.9"], "algorithm.gamma", "1", "algorithm.correction=vtrace"],
    [
      ["algorithm.correction=vtrace", "algorithm.bi_level_gae=true"],
      "algorithm.bi_level_gae",
      "false",
      "algorithm.correction=vtrace",
    ],
    [
      ["algorithm.correction=icepop", "algorithm.correction_cap=0.4"],
      "algorithm.correction_floor",
      "0.4",
      "algorithm.correction_cap",
    ],
  ])("of credit: %j is refused", (row) => expectRefused(...row));

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
