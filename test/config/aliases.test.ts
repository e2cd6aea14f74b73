import { describe, expect, it } from "vitest";
import { aliases } from "../../src/config/aliases.ts";
import { keys } from "../../src/config/describe.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { refused, resolved } from "./configs.ts";

/** Hydra's reference to another key. */
const ref = (key: string): string => `\${${key}}`;

describe("RAGEN's keys", () => {
  it("all lead to keys that exist, and none is a key of ours", () => {
    const known = keys(RunConfig).map(({ key }) => key);
    expect(Object.values(aliases).filter((ours) => !known.includes(ours))).toEqual([]);
    expect(Object.keys(aliases).filter((theirs) => known.includes(theirs))).toEqual([]);
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
    const { config, warnings } = resolved(base, "collapse_detection.multi_turn_enabled=False");
    expect(config.diagnostics.collapse).toMatchObject({
      compute_freq: 10,
      first_turn_enabled: true,
      multi_turn_enabled: false,
      num_samples: 0,
    });
    expect(warnings.join()).toContain("collapse_detection.micro_batch_size");
  });

  it("name loggers, which are our sinks, metrics.jsonl among them, and leave out those there is no sink for", () => {
    const { config, warnings } = resolved("trainer: { logger: [console, wandb, swanlab], project_name: ragen_latest }");
    expect(config.metrics).toMatchObject({
      sinks: ["console", "wandb", "jsonl"],
      wandb: { project: "ragen_latest" },
    });
    expect(warnings).toEqual([
      expect.stringMatching(/trainer\.logger: there is no sink for "?swanlab"?; it is left out$/),
    ]);
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
    const { config, warnings } = resolved(`
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
    expect(warnings.map((line) => line.replace(/^.*run\.yaml: (\S+) .*$/, "$1"))).toEqual([
      "hydra",
      "lora.alpha",
      "actor_rollout_ref.rollout.val_kwargs.do_sample",
      "trainer.n_gpus_per_node",
      "custom_envs.Bandit.parallel_friendly",
      "custom_envs.Bandit.max_workers",
    ]);
  });

  it("accept the filter's path as RAGEN's README writes it", () => {
    expect(resolved("", "actor_rollout_ref.rollout_filter_value=0.9").config.filter.value).toBe(0.9);
  });

  it("for what is not available are refused unless they switch it off", () => {
    expect(refused("", "lora.rank=8")).toBe(
      "lora.rank: 8 has no counterpart: adapters are not available; the whole model is trained (override)",
    );
    expect(refused("", "lora.rank=0")).toBe("accepted");
  });

  it("leave an environment's own settings alone", () => {
    const { config } = resolved("", "custom_envs.Bandit.env_config.max_workers=3");
    expect(config.custom_envs.Bandit?.env_config).toEqual({ max_workers: 3 });
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
});
