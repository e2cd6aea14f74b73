/**
 * RAGEN's and verl's key paths as data: our keys that do the same, and their spellings of values. translate.ts applies them.
 * Keys without a counterpart are in inertKeys.ts, rules.ts and unavailable.ts.
 * Invariant: our keys are never in these tables, so translating twice changes nothing.
 */

/** Maps RAGEN's keys and sections to ours. */
export const aliases: Readonly<Record<string, string>> = {
  model_path: "model.path",
  ppo_mini_batch_size: "actor.ppo_mini_batch_size",
  "seed.train": "es_manager.train.seed",
  "seed.val": "es_manager.val.seed",
  "actor_rollout_ref.model.path": "model.path",
  "lora.rank": "model.lora.rank",
  "lora.alpha": "model.lora.alpha",
  "lora.target_modules": "model.lora.target_modules",
  "actor_rollout_ref.model.lora_rank": "model.lora.rank",
  "actor_rollout_ref.model.lora_alpha": "model.lora.alpha",
  "actor_rollout_ref.model.target_modules": "model.lora.target_modules",
  "actor_rollout_ref.model.lora_adapter_path": "model.adapter",
  "actor_rollout_ref.actor.optim.lr": "actor.lr",
  "actor_rollout_ref.actor.optim.betas": "actor.betas",
  "actor_rollout_ref.actor.optim.weight_decay": "actor.weight_decay",
  "actor_rollout_ref.actor.optim.lr_warmup_steps": "actor.lr_warmup_steps",
  "actor_rollout_ref.actor.optim.lr_scheduler_type": "actor.lr_decay",
  // The next key is verl's older name of lr_scheduler_type.
  "actor_rollout_ref.actor.optim.warmup_style": "actor.lr_decay",
  "actor_rollout_ref.actor.grad_clip": "actor.grad_clip",
  enable_response_mask: "rollout.enable_response_mask",
  "actor_rollout_ref.actor.policy_loss.loss_mode": "actor.policy_loss",
  "actor_rollout_ref.actor.clip_ratio_low": "actor.clip_ratio_low",
  "actor_rollout_ref.actor.clip_ratio_high": "actor.clip_ratio_high",
  "actor_rollout_ref.actor.clip_ratio_c": "actor.clip_ratio_c",
  "actor_rollout_ref.actor.entropy_coeff": "actor.entropy_coeff",
  "actor_rollout_ref.actor.use_kl_loss": "actor.use_kl_loss",
  "actor_rollout_ref.actor.kl_loss_coef": "actor.kl_loss_coef",
  "actor_rollout_ref.actor.kl_loss_type": "actor.kl_loss_type",
  "actor_rollout_ref.actor.loss_agg_mode": "actor.loss_agg_mode",
  "actor_rollout_ref.actor.ppo_epochs": "actor.ppo_epochs",
  "actor_rollout_ref.actor.use_prefix_grouper": "actor.use_prefix_grouper",
  "actor_rollout_ref.actor.ppo_mini_batch_size": "actor.ppo_mini_batch_size",
  "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": "actor.micro_batch_tokens",
  "actor_rollout_ref.actor.filter_loss_scaling": "filter.loss_scaling",
  "actor_rollout_ref.rollout.rollout_filter_metric": "filter.metric",
  "actor_rollout_ref.rollout.rollout_filter_strategy": "filter.strategy",
  "actor_rollout_ref.rollout.rollout_filter_value": "filter.value",
  "actor_rollout_ref.rollout.rollout_filter_type": "filter.type",
  "actor_rollout_ref.rollout.rollout_filter_include_zero": "filter.include_zero",
  "actor_rollout_ref.rollout.rollout_filter_top_p_prob_mode": "filter.top_p_mode",
  "actor_rollout_ref.rollout.rollout_filter_selection_eps": "filter.selection_eps",
  "actor_rollout_ref.rollout.rollout_filter_empty_stop_steps": "trainer.empty_stop_steps",
  "actor_rollout_ref.rollout.rollout_filter_percentile_low": "filter.percentile_low",
  "actor_rollout_ref.rollout.rollout_filter_percentile_high": "filter.percentile_high",
  // RAGEN's README writes the filter without `.rollout.`.
  "actor_rollout_ref.rollout_filter_metric": "filter.metric",
  "actor_rollout_ref.rollout_filter_strategy": "filter.strategy",
  "actor_rollout_ref.rollout_filter_value": "filter.value",
  "actor_rollout_ref.rollout_filter_type": "filter.type",
  "actor_rollout_ref.rollout_filter_include_zero": "filter.include_zero",
  "actor_rollout_ref.rollout_filter_top_p_prob_mode": "filter.top_p_mode",
  "actor_rollout_ref.rollout_filter_selection_eps": "filter.selection_eps",
  "actor_rollout_ref.rollout_filter_empty_stop_steps": "trainer.empty_stop_steps",
  "actor_rollout_ref.rollout.response_length": "rollout.response_length",
  "actor_rollout_ref.rollout.max_model_len": "rollout.max_model_len",
  "actor_rollout_ref.rollout.temperature": "generation.temperature",
  "actor_rollout_ref.rollout.top_p": "generation.top_p",
  "actor_rollout_ref.rollout.top_k": "generation.top_k",
  "actor_rollout_ref.rollout.max_num_batched_tokens": "generation.prefill_tokens",
  "actor_rollout_ref.rollout.max_num_seqs": "generation.slots",
  "actor_rollout_ref.rollout.val_kwargs.temperature": "es_manager.val.temperature",
  grpo_advantage_length_weight: "algorithm.grpo_advantage_length_weight",
  "actor_rollout_ref.actor.grpo_advantage_length_weight": "algorithm.grpo_advantage_length_weight",
  "trainer.critic_warmup": "critic.warmup_windows",
  "critic.optim.lr": "critic.lr",
  "critic.optim.betas": "critic.betas",
  "critic.optim.weight_decay": "critic.weight_decay",
  "critic.optim.lr_warmup_steps": "critic.lr_warmup_steps",
  "agent_proxy.context_window_mode": "rollout.context",
  "agent_proxy.max_context_window": "rollout.max_context_window",
  "agent_proxy.enable_summary_memory": "rollout.summary",
  "agent_proxy.max_turn": "rollout.max_turn",
  "agent_proxy.max_actions_per_turn": "rollout.max_actions_per_turn",
  "agent_proxy.action_sep": "rollout.action_sep",
  "agent_proxy.enable_think": "rollout.enable_think",
  "agent_proxy.use_turn_scores": "reward.use_turn_scores",
  "agent_proxy.reward_normalization.grouping": "reward.grouping",
  "agent_proxy.reward_normalization.method": "reward.method",
  "es_manager.train.env_configs.tags": "es_manager.train.tags",
  "es_manager.train.env_configs.n_groups": "es_manager.train.n_groups",
  "es_manager.val.env_configs.tags": "es_manager.val.tags",
  "es_manager.val.env_configs.n_groups": "es_manager.val.n_groups",
  "ctx_manager.generation.gen_config.response_length": "rollout.response_length",
  "ctx_manager.generation.gen_config.temperature": "generation.temperature",
  "ctx_manager.generation.gen_config.top_p": "generation.top_p",
  "ctx_manager.generation.gen_config.top_k": "generation.top_k",
  "actor_rollout_ref.rollout.gradient_analysis_num_buckets": "trainer.gradient_analysis_num_buckets",
  "actor_rollout_ref.rollout.gradient_analysis_bucket_mode": "trainer.gradient_analysis_bucket_mode",
  "collapse_detection.compute_freq": "diagnostics.collapse.compute_freq",
  "collapse_detection.first_turn_enabled": "diagnostics.collapse.first_turn_enabled",
  "collapse_detection.multi_turn_enabled": "diagnostics.collapse.multi_turn_enabled",
  "collapse_detection.num_samples": "diagnostics.collapse.num_samples",
  "collapse_detection.std_eps": "diagnostics.collapse.std_eps",
  "collapse_detection.ema_decay": "diagnostics.collapse.ema_decay",
  "trainer.experiment_name": "run.name",
  "trainer.local_log_dir": "run.dir",
  "trainer.default_local_dir": "run.dir",
  "trainer.max_actor_ckpt_to_keep": "trainer.max_checkpoints",
  "trainer.logger": "metrics.sinks",
  "trainer.project_name": "metrics.wandb.project",
  "trainer.log_group_rv_table": "metrics.wandb.group_tables",
  "trainer.log_val_generations": "trainer.validation_episodes",
  "trainer.generations_to_log_to_wandb.train": "metrics.wandb.train_episodes",
  "trainer.generations_to_log_to_wandb.val": "trainer.validation_episodes",
  "model_config.model_name": "evaluation.endpoint.model",
  "model_config.max_concurrency": "evaluation.endpoint.max_concurrency",
  model_info: "evaluation.model_info",
};

/** verl's names of divergence estimators. */
const estimators = { kl: "k1", mse: "k2", "k2+": "k2", "mse+": "k2", low_var_kl: "k3", "low-var-kl": "k3" };

/** RAGEN's spellings of values, by our key. */
const spellings: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  "diagnostics.collapse.num_samples": { all: 0 },
  "filter.metric": { reward_std: "reward_variance", entropy_std: "entropy_variance" },
  "rollout.summary": { true: "facts", false: "none" },
  "actor.kl_loss_type": { ...estimators, "kl+": "k1+", "low_var_kl+": "k3+", "low-var-kl+": "k3+" },
  // No gradient passes through the reward, so straight-through forms equal the plain ones.
  "algorithm.kl_penalty": {
    ...estimators,
    "k1+": "k1",
    "kl+": "k1",
    "abs+": "abs",
    "k3+": "k3",
    "low_var_kl+": "k3",
    "low-var-kl+": "k3",
  },
  "actor.policy_loss": { vanilla: "ppo" },
};

/** Loggers of verl that have no sink here. */
export const unsupportedLoggers: readonly string[] = ["swanlab", "mlflow", "clearml", "trackio", "vemlp_wandb", "file"];

/** Looks a key up in a table; inherited names such as `constructor` are no keys. */
export const ownEntry = <A>(table: Readonly<Record<string, A>>, key: string): A | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** Returns our name of RAGEN's key; any other key keeps its name. */
export const ourKey = (key: string): string => ownEntry(aliases, key) ?? key;

/** Returns our spelling of a value of one of our keys. */
export const ourSpelling = (key: string, value: unknown): unknown =>
  typeof value === "string" || typeof value === "boolean"
    ? (ownEntry(ownEntry(spellings, key) ?? {}, String(value)) ?? value)
    : value;
