import { describe, expect, it } from "vitest";
import { keyInfos } from "../../../src/config/describe.ts";
import { RunConfig } from "../../../src/config/RunConfig.ts";
import { aliases } from "../../../src/config/ragen/aliases.ts";
import { foreignKeys } from "../../../src/config/ragen/foreign.ts";
import { remarks } from "../../../src/config/resolve.ts";
import { refused, resolved } from "../configs.ts";

/** Hydra's reference to another key. */
const ref = (key: string): string => `\${${key}}`;

describe("RAGEN's keys", () => {
  it("all lead to keys that exist, and none is a key of ours", () => {
    const keys = keyInfos(RunConfig).map(({ key }) => key);
    expect(Object.values(aliases).filter((ours) => !keys.includes(ours))).toEqual([]);
    expect(foreignKeys.filter((theirs) => keys.includes(theirs))).toEqual([]);
  });

  it("are each in one table only", () => {
    expect(foreignKeys.filter((key, index) => foreignKeys.indexOf(key) !== index)).toEqual([]);
  });

  it("work as overrides", () => {
    const { config } = resolved(
      "",
      "actor_rollout_ref.actor.optim.lr=1e-5",
      "actor_rollout_ref.rollout.rollout_filter_strategy=top_k",
      "actor_rollout_ref.rollout.rollout_filter_top_p_prob_mode=softmax",
      "actor_rollout_ref.actor.filter_loss_scaling=sqrt",
      "agent_proxy.max_turn=3",
      "agent_proxy.reward_normalization.method=mean_std",
      "model_path=somewhere",
      "seed.val=7",
    );
    expect(config).toMatchObject({
      actor: { lr: 1e-5 },
      filter: { strategy: "top_k", top_p_mode: "softmax", loss_scaling: "sqrt" },
      rollout: { max_turn: 3 },
      reward: { method: "mean_std" },
      model: { path: "somewhere" },
      es_manager: { val: { seed: 7 } },
    });
  });

  it("ask for collapse measurements", () => {
    const base =
      "collapse_detection: { compute_freq: 10, micro_batch_size: 64, first_turn_enabled: true, num_samples: all }";
    const found = resolved(base, "collapse_detection.multi_turn_enabled=False");
    const { config } = found;
    expect(config.diagnostics.collapse).toMatchObject({
      compute_freq: 10,
      first_turn_enabled: true,
      multi_turn_enabled: false,
      num_samples: 0,
    });
    expect(remarks(found)).toContain("collapse_detection.micro_batch_size");
  });

  it("name loggers, which are our sinks, metrics.jsonl among them, and leave out those there is no sink for", () => {
    const { config, notes } = resolved("trainer: { logger: [console, wandb, swanlab], project_name: ragen_latest }");
    expect(config.metrics).toMatchObject({
      sinks: ["console", "wandb", "jsonl"],
      wandb: { project: "ragen_latest" },
    });
    expect(notes).toEqual(['trainer.logger: there is no sink for "swanlab"; it is left out']);
    expect(resolved("trainer: { logger: wandb }").config.metrics.sinks).toEqual(["wandb", "jsonl"]);
  });

  it("name episodes for the tables of Weights & Biases", () => {
    const { config } = resolved("trainer: { generations_to_log_to_wandb: { train: 64, val: 20 } }");
    expect([config.metrics.wandb.train_episodes, config.trainer.validation_episodes]).toEqual([64, 20]);
  });

  it("of a logger that nobody knows are refused with the nearest", () => {
    expect(refused("trainer: { logger: [wandbb] }")).toMatch(/metrics\.sinks.*wandbb.*nearest: wandb/s);
  });

  it("work in files, beside ours", () => {
    const { aside, config } = resolved(`
hydra: { searchpath: [pkg://verl.trainer.config] }
ppo_mini_batch_size: 16
lora: { rank: 0, alpha: 64 }
actor_rollout_ref:
  model: { path: "${ref("model_path")}" }
  actor:
    ppo_mini_batch_size: ${ref("ppo_mini_batch_size")}
    kl_loss_type: low_var_kl
  rollout:
    response_length: 500
    rollout_filter_metric: reward_std
    val_kwargs: { do_sample: True, temperature: 0.25 }
trainer: { experiment_name: bandit, n_gpus_per_node: 1, test_freq: 5 }
agent_proxy: { max_turn: 1, context_window_mode: full }
es_manager:
  train: { env_configs: { tags: [Bandit] } }
  val: { env_groups: 32, env_configs: { tags: [Bandit, BanditTest], n_groups: [16, 16] } }
custom_envs:
  Bandit: { parallel_friendly: false, max_workers: 32, env_config: null }
`);
    expect(config).toMatchObject({
      run: { name: "bandit" },
      trainer: { test_freq: 5 },
      actor: { ppo_mini_batch_size: 16, kl_loss_type: "k3" },
      rollout: { response_length: 500, max_turn: 1 },
      filter: { metric: "reward_variance" },
      es_manager: {
        train: { tags: ["Bandit"], n_groups: [8] },
        val: { tags: ["Bandit", "BanditTest"], n_groups: [16, 16], temperature: 0.25 },
      },
    });
    expect([...aside.values()].flat()).toEqual([
      "hydra.searchpath",
      "trainer.n_gpus_per_node",
      "custom_envs.Bandit.parallel_friendly",
      "custom_envs.Bandit.max_workers",
    ]);
  });

  it("name context modes, windows and summaries", () => {
    const { rollout } = resolved(
      "agent_proxy: { context_window_mode: limited_multi_turn, max_context_window: 3, enable_summary_memory: true }",
    ).config;
    expect(rollout).toMatchObject({ context: "limited_multi_turn", max_context_window: 3, summary: "facts" });
    const off = resolved("agent_proxy: { enable_summary_memory: false, max_context_window: 5 }").config;
    expect(off.rollout).toMatchObject({ context: "full", summary: "none" });
  });

  it("name the range of percentiles and the table of groups", () => {
    const { config } = resolved(
      "",
      "actor_rollout_ref.rollout.rollout_filter_strategy=percentile_range",
      "actor_rollout_ref.rollout.rollout_filter_percentile_low=0.25",
      "actor_rollout_ref.rollout.rollout_filter_percentile_high=0.5",
      "trainer.log_group_rv_table=true",
    );
    expect(config.filter).toMatchObject({
      strategy: "percentile_range",
      percentile_low: 0.25,
      percentile_high: 0.5,
    });
    expect(config.metrics.wandb.group_tables).toBe(true);
  });

  it("accept the filter's path as RAGEN's README writes it", () => {
    expect(resolved("", "actor_rollout_ref.rollout_filter_value=0.9").config.filter.value).toBe(0.9);
  });

  it("for what is not available are refused unless they switch it off", () => {
    expect(refused("", "reward_model.enable=True")).toBe(
      "reward_model.enable: true has no counterpart: rewards come from environments (override)",
    );
    expect(refused("", "reward_model.enable=False")).toBe("accepted");
    expect(refused("reward_model: { enable: True }", "reward_model.enable=False")).toBe("accepted");
    expect(refused("reward_model: { enable: True }", "~reward_model.enable")).toBe("accepted");
  });

  it("name the adapter that is trained, and its critic's where that is the same", () => {
    const written = "lora: { rank: 64, alpha: 32, target_modules: [v_proj, q_proj] }";
    const ofCritic = `critic: { model: { lora_rank: "${ref("lora.rank")}", lora_alpha: "${ref("lora.alpha")}" } }`;
    const { model } = resolved(`${written}\n${ofCritic}`).config;
    expect(model.lora).toMatchObject({ rank: 64, alpha: 32, target_modules: ["v_proj", "q_proj"] });
    expect(resolved("", "actor_rollout_ref.model.lora_rank=8").config.model.lora.rank).toBe(8);
    expect(resolved("", "actor_rollout_ref.model.lora_adapter_path=some/adapter").config.model.adapter).toBe(
      "some/adapter",
    );
    expect(refused(written, "critic.model.lora_rank=8")).toMatch(/critic\.model\.lora_rank: .*model\.lora\.rank is 64/);
    expect(refused(written, "model.lora.dropout=0.1")).toMatch(/model\.lora\.dropout: 0\.1: .*nearest: 0/);
  });

  it.each([
    ["custom_reward_function.path=my.py", /custom_envs\.TAG\.wrappers/],
    ["reward_model.enable=True", /rewards come from environments/],
    ["output.keep_meta_info=False", /always written/],
    ["critic.ppo_mini_batch_size=8", /actor\.ppo_mini_batch_size is 32; nearest: 32/],
    ["critic.model.path=elsewhere", /one model/],
    ["actor_rollout_ref.rollout.n=4", /es_manager\.train\.group_size/],
    ["trainer.resume_mode=resume_path", /--resume RUN/],
    ["actor_rollout_ref.actor.optim.optimizer=SGD", /AdamW/],
  ])("that would change results are refused: %s", (override, why) => {
    const problem = refused("", override);
    expect(problem.split(":", 1)[0]).toBe(override.split("=", 1)[0]);
    expect(problem).toMatch(why);
  });

  it("are all judged at once, with the other problems", () => {
    const problems = refused(
      "",
      "reward_model.enable=True",
      "output.save_pkl_backup=True",
      "actor.lr=-1",
      "es_manager.train.n_groups=[4]",
    );
    expect(problems.split("\n").map((line) => line.split(":", 1)[0])).toEqual([
      "reward_model.enable",
      "output.save_pkl_backup",
      "actor.lr",
    ]);
  });

  it("that stand for several places give way to the narrower key beside them", () => {
    const both = ["actor_rollout_ref.actor.ppo_mini_batch_size=16", "ppo_mini_batch_size=64"];
    expect(resolved("", ...both).config.actor.ppo_mini_batch_size).toBe(16);
  });

  it("that are null are at their defaults, whatever earlier files say", () => {
    const text =
      "es_manager: { val: { env_groups: 6, env_configs: { tags: [Bandit, BanditTest], n_groups: [5, 1] } } }";
    const { config } = resolved(text, "es_manager.val.env_configs.n_groups=null", "trainer.total_training_steps=null");
    expect(config.es_manager.val.n_groups).toEqual([3, 3]);
    expect(config.trainer.total_training_steps).toBe(200);
    expect(resolved("actor: { lr: 0.5 }", "actor.lr=null").config.actor.lr).toBe(1e-6);
  });

  it("that are empty sections change nothing", () => {
    const { actor, custom_envs } = resolved("actor: { lr: 0.5 }\ncustom_envs:", "actor=null").config;
    expect([actor.lr, Object.keys(custom_envs).length]).toEqual([0.5, 5]);
  });

  it("spell values as RAGEN does under our keys, too", () => {
    expect(resolved("", "actor.kl_loss_type=low_var_kl").config.actor.kl_loss_type).toBe("k3");
  });

  it("for losses and divergences are ours, in verl's spelling of their values too", () => {
    const { config } = resolved(
      "actor: { kl_loss_type: low_var_kl+ }\nalgorithm: { kl_penalty: mse, kl_ctrl: { type: adaptive, kl_coef: 0.02 } }",
      "enable_response_mask=false",
      "actor_rollout_ref.actor.policy_loss.loss_mode=vanilla",
      "algorithm.use_kl_in_reward=true",
      "algorithm.kl_ctrl.target_kl=0.2",
    );
    expect(config).toMatchObject({
      rollout: { enable_response_mask: false },
      actor: { policy_loss: "ppo", kl_loss_type: "k3+" },
      algorithm: {
        use_kl_in_reward: true,
        kl_penalty: "k2",
        kl_ctrl: { type: "adaptive", kl_coef: 0.02, target_kl: 0.2, horizon: 10_000 },
      },
    });
  });

  it.each([
    ["kl", "k1", "k1"],
    ["kl+", "k1+", "k1"],
    ["abs", "abs", "abs"],
    ["mse", "k2", "k2"],
    ["k2+", "k2", "k2"],
    ["low_var_kl", "k3", "k3"],
    ["low-var-kl", "k3", "k3"],
    ["low_var_kl+", "k3+", "k3"],
    ["k3+", "k3+", "k3"],
  ])("accept verl's estimator %s, in the loss and in the reward", (theirs, inLoss, inReward) => {
    const written = ["actor_rollout_ref.actor.kl_loss_type", "algorithm.kl_penalty"].map((key) => `${key}=${theirs}`);
    const { actor, algorithm } = resolved("", ...written).config;
    expect([actor.kl_loss_type, algorithm.kl_penalty]).toEqual([inLoss, inReward]);
  });

  it("leave an environment's own settings alone", () => {
    const { config } = resolved("", "custom_envs.Bandit.env_config.max_workers=3");
    expect(config.custom_envs.Bandit?.env_config).toEqual({ max_workers: 3 });
  });
});

describe("values that mean something else than a key's value", () => {
  it("never validate and never save for -1, but for the last weights", () => {
    const { config, notes } = resolved("", "trainer.test_freq=-1", "trainer.save_freq=-1");
    expect(config.trainer).toMatchObject({ test_freq: 0, val_at_end: false, save_freq: 0 });
    expect(notes).toEqual(["trainer.save_freq: -1: only the last weights are saved"]);
  });

  it("are those of the last layer", () => {
    const { trainer } = resolved("trainer: { test_freq: -1 }", "trainer.test_freq=5").config;
    expect([trainer.test_freq, trainer.val_at_end]).toEqual([5, true]);
    const never = resolved("trainer: { val_at_end: true }", "trainer.test_freq=-1").config.trainer;
    expect([never.test_freq, never.val_at_end]).toEqual([0, true]);
  });

  it("switch the KL loss off without a reference policy, as RAGEN does, and say so", () => {
    const { config, notes } = resolved("", "actor.use_kl_loss=true", "actor_rollout_ref.actor.use_ref=False");
    expect(config.actor.use_kl_loss).toBe(false);
    expect(notes).toEqual([expect.stringContaining("actor.use_kl_loss is false")]);
  });

  it("validate greedily where nothing is sampled", () => {
    const { config } = resolved("", "actor_rollout_ref.rollout.val_kwargs.do_sample=False");
    expect(config.es_manager.val.temperature).toBe(0);
  });

  it("warm up for a share of the steps", () => {
    const { actor, critic } = resolved(
      "trainer: { total_training_steps: 300 }",
      "actor_rollout_ref.actor.optim.lr_warmup_steps=-1",
      "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio=0.05",
      "critic.optim.lr_warmup_steps=4",
      "critic.optim.lr_warmup_steps_ratio=0.5",
    ).config;
    expect([actor.lr_warmup_steps, critic.lr_warmup_steps]).toEqual([15, 4]);
  });

  it("ask for a validation only", () => {
    expect(resolved("", "trainer.val_only=True").isValidationOnly).toBe(true);
    expect(resolved("", "trainer.total_training_steps=0")).toMatchObject({ isValidationOnly: true });
    expect(resolved("").isValidationOnly).toBe(false);
  });
});

describe("what is set aside", () => {
  it("is named once, keys of a section together, and nothing is said where there is nothing", () => {
    const remark = remarks(
      resolved("", "trainer.nnodes=2", "ray_kwargs.ray_init.num_cpus=16", "trainer.balance_batch=False"),
    );
    expect(remark).toBe(
      [
        "3 keys are set aside, as nothing here depends on them:",
        "  Ray and its workers (one process runs all stages): trainer.{nnodes, balance_batch}, ray_kwargs.ray_init.num_cpus",
      ].join("\n"),
    );
    expect(remarks(resolved(""))).toBeNull();
  });
});

describe("a value that refers to another key", () => {
  it("takes that key's value, under either name, also a default", () => {
    const { config } = resolved("", `critic.lr=${ref("actor_rollout_ref.actor.optim.lr")}`);
    expect(config.critic.lr).toBe(1e-6);
  });

  it("is refused when that key does not exist, or leads back", () => {
    expect(refused("", `critic.lr=${ref("nope")}`)).toContain("refers to a key that is not set");
    expect(refused("", `critic.lr=${ref("actor.lr")}`, `actor.lr=${ref("critic.lr")}`)).toContain("refers to itself");
  });

  it("may be a key that is set aside, one of its own section, or part of a text", () => {
    const text = `
micro_batch_size_per_gpu: 4
critic: { ppo_micro_batch_size_per_gpu: "${ref("micro_batch_size_per_gpu")}", warmup_windows: 3, layers: "${ref(".warmup_windows")}" }
trainer: { experiment_name: "run-${ref("micro_batch_size_per_gpu")}x${ref("seed.val")}" }`;
    const { config } = resolved(text, "seed.val=7");
    expect([config.run.name, config.critic.layers]).toEqual(["run-4x7", 3]);
  });

  it("may have a default, or be an environment variable", () => {
    process.env.MILLRACE_TEST_STEPS = "12";
    const steps = `trainer.total_training_steps=${ref("oc.env:MILLRACE_TEST_STEPS")}`;
    const turns = `rollout.max_turn=${ref("oc.select:agent_proxy.turns,4")}`;
    const { config } = resolved("", steps, turns, `run.name=${ref("oc.env:MILLRACE_TEST_NAME,mine")}`);
    delete process.env.MILLRACE_TEST_STEPS;
    expect([config.trainer.total_training_steps, config.rollout.max_turn, config.run.name]).toEqual([12, 4, "mine"]);
  });

  it("is refused where it is of an unknown kind, or of a variable that is not set", () => {
    expect(refused("", `run.name=${ref("now:%Y")}`)).toContain(
      "uses now, which is not known; known: oc.env, oc.select",
    );
    expect(refused("", `run.name=${ref("oc.env:MILLRACE_TEST_NONE")}`)).toContain(
      'refers to the environment variable "MILLRACE_TEST_NONE", which is not set',
    );
  });

  it("that doubles a text again and again is refused", () => {
    const names = Array.from(
      { length: 15 },
      (_, n) => `g${n}: "${ref(`custom_envs.B.env_config.g${n + 1}`).repeat(64)}"`,
    );
    const problem = refused(`custom_envs: { B: { env_type: bandit, env_config: { ${names.join(", ")}, g15: x } } }`);
    expect(problem).toContain("means too long a text");
  });
});
