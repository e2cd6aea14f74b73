/**
 * Translates RAGEN's key paths into ours, in run files and overrides. A key that has no meaning here gives a warning; a setting that would
 * train something else than RAGEN does gives a problem.
 * Invariant: a key of ours is never in these tables, so translating twice changes nothing.
 */
import { shown, shownKey } from "./shown.ts";
import type { Change, Path, Tree } from "./Tree.ts";
import { isTree, setAll } from "./Tree.ts";

/** RAGEN's key, or section, to ours. */
export const aliases: Readonly<Record<string, string>> = {
  model_path: "model.path",
  ppo_mini_batch_size: "actor.ppo_mini_batch_size",
  "seed.train": "es_manager.train.seed",
  "seed.val": "es_manager.val.seed",
  "actor_rollout_ref.model.path": "model.path",
  "actor_rollout_ref.actor.optim.lr": "actor.lr",
  "actor_rollout_ref.actor.optim.betas": "actor.betas",
  "actor_rollout_ref.actor.optim.weight_decay": "actor.weight_decay",
  "actor_rollout_ref.actor.optim.lr_warmup_steps": "actor.lr_warmup_steps",
  "actor_rollout_ref.actor.grad_clip": "actor.grad_clip",
  "actor_rollout_ref.actor.clip_ratio_low": "actor.clip_ratio_low",
  "actor_rollout_ref.actor.clip_ratio_high": "actor.clip_ratio_high",
  "actor_rollout_ref.actor.clip_ratio_c": "actor.clip_ratio_c",
  "actor_rollout_ref.actor.entropy_coeff": "actor.entropy_coeff",
  "actor_rollout_ref.actor.use_kl_loss": "actor.use_kl_loss",
  "actor_rollout_ref.actor.kl_loss_coef": "actor.kl_loss_coef",
  "actor_rollout_ref.actor.kl_loss_type": "actor.kl_loss_type",
  "actor_rollout_ref.actor.loss_agg_mode": "actor.loss_agg_mode",
  "actor_rollout_ref.actor.ppo_epochs": "actor.ppo_epochs",
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
  "trainer.critic_warmup": "critic.warmup_windows",
  "critic.optim.lr": "critic.lr",
  "critic.optim.betas": "critic.betas",
  "critic.optim.weight_decay": "critic.weight_decay",
  "critic.optim.lr_warmup_steps": "critic.lr_warmup_steps",
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
  "trainer.experiment_name": "run.name",
  "trainer.local_log_dir": "run.dir",
  "trainer.default_local_dir": "run.dir",
  "trainer.max_actor_ckpt_to_keep": "trainer.max_checkpoints",
  "trainer.logger": "metrics.sinks",
  "trainer.project_name": "metrics.wandb.project",
  "trainer.log_val_generations": "trainer.validation_episodes",
  "trainer.generations_to_log_to_wandb.train": "metrics.wandb.train_episodes",
  "trainer.generations_to_log_to_wandb.val": "trainer.validation_episodes",
  "model_config.model_name": "evaluation.endpoint.model",
  "model_config.max_concurrency": "evaluation.endpoint.max_concurrency",
  model_info: "evaluation.model_info",
};

/** RAGEN's spellings of values, by our key. */
const spellings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "filter.metric": { reward_std: "reward_variance", entropy_std: "entropy_variance" },
  "actor.kl_loss_type": { kl: "k1", mse: "k2", low_var_kl: "k3", "low-var-kl": "k3" },
};

/** Loggers of verl that have no sink here. */
const otherLoggers: readonly string[] = ["swanlab", "mlflow", "clearml", "trackio", "vemlp_wandb", "file"];

/** Keys and whole sections of RAGEN for machinery that does not exist here: they are accepted, each with one warning. */
const ignored: readonly string[] = [
  "hydra",
  "system",
  "data",
  "ray_init",
  "global_profiler",
  "reward_model",
  "custom_reward_function",
  "collapse_detection",
  "micro_batch_size_per_gpu",
  "log_prob_micro_batch_size_per_gpu",
  "lora.alpha",
  "lora.target_modules",
  "actor_rollout_ref.hybrid_engine",
  "actor_rollout_ref.model.lora_alpha",
  "actor_rollout_ref.model.target_modules",
  "actor_rollout_ref.model.enable_gradient_checkpointing",
  "actor_rollout_ref.model.use_remove_padding",
  "actor_rollout_ref.actor.strategy",
  "actor_rollout_ref.actor.use_ref",
  "actor_rollout_ref.actor.use_dynamic_bsz",
  "actor_rollout_ref.actor.ppo_micro_batch_size",
  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
  "actor_rollout_ref.actor.fsdp_config",
  "actor_rollout_ref.actor.ulysses_sequence_parallel_size",
  "actor_rollout_ref.actor.checkpoint",
  "actor_rollout_ref.ref",
  "actor_rollout_ref.rollout.name",
  "actor_rollout_ref.rollout.mode",
  "actor_rollout_ref.rollout.dtype",
  "actor_rollout_ref.rollout.load_format",
  "actor_rollout_ref.rollout.layered_summon",
  "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
  "actor_rollout_ref.rollout.tensor_model_parallel_size",
  "actor_rollout_ref.rollout.prompt_length",
  "actor_rollout_ref.rollout.gpu_memory_utilization",
  "actor_rollout_ref.rollout.enforce_eager",
  "actor_rollout_ref.rollout.free_cache_engine",
  "actor_rollout_ref.rollout.enable_chunked_prefill",
  "actor_rollout_ref.rollout.enable_prefix_caching",
  "actor_rollout_ref.rollout.disable_log_stats",
  "actor_rollout_ref.rollout.do_sample",
  "actor_rollout_ref.rollout.n",
  "actor_rollout_ref.rollout.val_kwargs.do_sample",
  "actor_rollout_ref.rollout.val_kwargs.logprobs",
  "critic.model",
  "critic.strategy",
  "critic.use_dynamic_bsz",
  "critic.ppo_mini_batch_size",
  "critic.ppo_micro_batch_size",
  "critic.ppo_micro_batch_size_per_gpu",
  "critic.ulysses_sequence_parallel_size",
  "critic.checkpoint",
  "algorithm.kl_penalty",
  "agent_proxy.batch_adjust_mode",
  "ctx_manager.generation.gen_config.kwargs",
  "trainer.n_gpus_per_node",
  "trainer.nnodes",
  "trainer.device",
  "trainer.balance_batch",
  "trainer.total_epochs",
  "trainer.log_group_rv_table",
  "trainer.max_critic_ckpt_to_keep",
  "trainer.resume_mode",
  "trainer.default_hdfs_dir",
  "custom_envs.*.parallel_friendly",
  "custom_envs.*.max_workers",
];

/** RAGEN's switches for features that are not available: only their "off" values are accepted, without a warning. */
const offOnly: Readonly<Record<string, { readonly off: readonly unknown[]; readonly because: string }>> = {
  enable_response_mask: { off: [true], because: "only sampled tokens are ever trained on" },
  grpo_advantage_length_weight: { off: [false], because: "advantages are not weighted by length" },
  "lora.rank": { off: [0], because: "adapters are not available; the whole model is trained" },
  "actor_rollout_ref.model.lora_rank": { off: [0], because: "adapters are not available; the whole model is trained" },
  "actor_rollout_ref.actor.grpo_advantage_length_weight": {
    off: [false],
    because: "advantages are not weighted by length",
  },
  "actor_rollout_ref.rollout.val_kwargs.top_p": { off: [1], because: "validation samples from all tokens" },
  "actor_rollout_ref.rollout.val_kwargs.top_k": { off: [-1, 0], because: "validation samples from all tokens" },
  "algorithm.zero_task_advantage": { off: [false], because: "this ablation is not available" },
  "algorithm.soft_advantage_reweight": { off: [false], because: "soft reweighting is not available" },
  "algorithm.use_kl_in_reward": { off: [false], because: "use actor.use_kl_loss" },
  "algorithm.kl_ctrl.kl_coef": { off: [0], because: "the divergence is a loss: use actor.kl_loss_coef" },
  "algorithm.kl_ctrl.type": { off: ["fixed"], because: "the divergence is a loss: use actor.kl_loss_coef" },
  "trainer.validation_steps": { off: [1], because: "set es_manager.val.env_groups instead" },
  "agent_proxy.context_window_mode": { off: ["full"], because: "the model sees its whole history" },
  "agent_proxy.max_context_window": { off: [-1], because: "the model sees its whole history" },
  "agent_proxy.without_history": { off: [false], because: "the model sees its whole history" },
  "output.keep_batch_keys": { off: [], because: "episodes are written as texts, without tensors" },
  "output.keep_non_tensor_keys": { off: [], because: "every line has its messages and its metadata" },
  "output.keep_meta_info": { off: [true], because: "the summary is always written" },
  "output.save_jsonl_backup": { off: [true, false], because: "JSON lines are written in any case" },
  "output.save_pkl_backup": { off: [false], because: "episodes are written as JSON lines only" },
  "actor_rollout_ref.rollout.rollout_filter_ratio": {
    off: [1],
    because: "use filter.strategy=top_k with filter.value instead",
  },
};

/** The entry of a table under exactly that key; inherited names such as `constructor` are no keys. */
const entry = <A>(table: Readonly<Record<string, A>>, key: string): A | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** Our name of RAGEN's key; any other key keeps its name. */
export const canonical = (key: string): string => entry(aliases, key) ?? key;

const wildcard = (key: string): string => key.replace(/^custom_envs\.[^.]+\./, "custom_envs.*.");

/** Every key of RAGEN that is understood, for "did you mean". */
export const foreignKeys: readonly string[] = [...Object.keys(aliases), ...Object.keys(offOnly), ...ignored];

const meaningless: ReadonlySet<string> = new Set(ignored);

/** The sections in which keys of RAGEN may occur; no environment's own `env_config` is one. */
const sharedSections: ReadonlySet<string> = new Set(
  foreignKeys.flatMap((key) => {
    const words = key.split(".");
    return words.slice(1).map((_, index) => words.slice(0, index + 1).join("."));
  }),
);

const isShared = (key: string): boolean => sharedSections.has(wildcard(`${key}.`).slice(0, -1));

/** A translated layer. Warnings and problems name the key as it was written. */
export interface Translation {
  readonly tree: Tree;
  readonly warnings: readonly string[];
  readonly problems: readonly string[];
}

const interpolation = /^\$\{([\w.]+)\}$/;

/** The key a whole-value interpolation `${key}` refers to, under our name, or null. */
export const reference = (value: unknown): string | null => {
  const key = typeof value === "string" ? interpolation.exec(value)?.[1] : undefined;
  return key === undefined ? null : canonical(key);
};

const respell = (key: string, value: unknown): unknown =>
  typeof value === "string" ? (entry(entry(spellings, key) ?? {}, value) ?? value) : value;

/** RAGEN's loggers as sinks, metrics.jsonl among them, and those that there is no sink for. */
const sinksOf = (loggers: unknown): { readonly sinks: readonly unknown[]; readonly without: readonly string[] } => {
  const named: readonly unknown[] = Array.isArray(loggers) ? loggers : [loggers];
  const known = (name: unknown): boolean => typeof name !== "string" || !otherLoggers.includes(name);
  return {
    sinks: [...new Set([...named.filter(known), "jsonl"])],
    without: named.filter((name): name is string => typeof name === "string" && !known(name)),
  };
};

/** Renames a layer's keys; a key that is in no table is kept. */
export const translate = (layer: Tree): Translation => {
  const changes: Change[] = [];
  const warnings: string[] = [];
  const problems: string[] = [];
  /** A key that is ours under another name. */
  const rename = (path: Path, ours: string, value: unknown): void => {
    if (reference(value) === ours) return;
    if (ours !== "metrics.sinks" || value === null || reference(value) !== null) {
      changes.push({ path: ours.split("."), value: respell(ours, value) });
      return;
    }
    const { sinks, without } = sinksOf(value);
    for (const name of without) warnings.push(`${shownKey(path)}: there is no sink for ${shown(name)}; it is left out`);
    changes.push({ path: ours.split("."), value: sinks });
  };
  const visit = (node: Tree, section: Path): void => {
    for (const [name, value] of Object.entries(node)) {
      const path = [...section, name];
      const key = path.join(".");
      const feature = entry(offOnly, key);
      const ours = entry(aliases, key);
      if (feature !== undefined) {
        const { because, off } = feature;
        const accepted = off.includes(value) || value === null || reference(value) !== null;
        if (!accepted) problems.push(`${shownKey(path)}: ${shown(value)} has no counterpart: ${because}`);
      } else if (meaningless.has(wildcard(key))) {
        warnings.push(`${shownKey(path)} has no meaning here and is ignored`);
      } else if (ours !== undefined) {
        rename(path, ours, value);
      } else if (isShared(key) && (value === null || isTree(value))) {
        visit(value ?? {}, path);
      } else {
        changes.push({ path, value });
      }
    }
  };
  visit(layer, []);
  return { tree: setAll({}, changes), warnings, problems };
};
