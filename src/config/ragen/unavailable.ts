/**
 * RAGEN's and verl's keys for features that are not available. An inert value is accepted; any other is refused, with the reason.
 * When a feature is added, its keys move to aliases.ts. Invariant: our keys, and those that aliases.ts renames, never count here.
 */

export interface Unavailable {
  /** Values that change nothing; null is always one. */
  readonly inert: readonly unknown[];
  /** Our key whose value is inert as well. */
  readonly same?: string;
  /** Reason to refuse other values. */
  readonly because: string;
}

const likeThePolicys = (key: string): Unavailable => ({
  inert: [],
  same: `model.lora.${key}`,
  because: "the critic's adapter is of the policy's rank, alpha and layers",
});
const off = (because: string): Unavailable => ({ inert: [false], because });
const unset = (because: string): Unavailable => ({ inert: [], because });
const modelFolder = "a model is the one folder that model.path names";
const oneModel: Unavailable = { inert: [], same: "model.path", because: "actor and critic start from one model" };
const corrections = "set algorithm.correction instead";

export const unavailable: Readonly<Record<string, Unavailable>> = {
  // Context.
  "agent_proxy.without_history": off("use rollout.context=single_turn with rollout.max_context_window=1"),
  // Advantages.
  "algorithm.use_pf_ppo": off("episodes are not resampled by their scores"),
  // Losses.
  "algorithm.rollout_correction.rollout_is": unset(corrections),
  "algorithm.rollout_correction.rollout_rs": unset(corrections),
  "algorithm.rollout_correction.rollout_token_veto_threshold": unset(corrections),
  "algorithm.rollout_correction.bypass_mode": off(corrections),
  "algorithm.rollout_correction.use_policy_gradient": off(corrections),
  "algorithm.rollout_correction.rollout_is_batch_normalize": off(corrections),
  "actor_rollout_ref.actor.shuffle": off("mini-batches keep the order of their groups"),
  "critic.shuffle": off("mini-batches keep the order of their groups"),
  "critic.loss_agg_mode": {
    inert: [],
    same: "actor.loss_agg_mode",
    because: "losses of actor and critic are aggregated alike",
  },
  "critic.ppo_epochs": { inert: [], same: "actor.ppo_epochs", because: "actor and critic pass over a window together" },
  "critic.ppo_mini_batch_size": {
    inert: [],
    same: "actor.ppo_mini_batch_size",
    because: "actor and critic take the same mini-batches",
  },
  "critic.enable": unset("algorithm.adv_estimator decides whether there is a critic"),
  // Optimisers.
  "actor_rollout_ref.actor.optim.optimizer": { inert: ["AdamW"], because: "the optimiser is AdamW" },
  "actor_rollout_ref.actor.optim.override_optimizer_config": unset("set actor.betas, actor.eps or actor.weight_decay"),
  "actor_rollout_ref.actor.optim.min_lr_ratio": { inert: [0], because: "the cosine schedule ends at 0" },
  "critic.optim.optimizer": { inert: ["AdamW"], because: "the optimiser is AdamW" },
  "critic.optim.override_optimizer_config": unset("set critic.betas, critic.eps or critic.weight_decay"),
  "critic.optim.min_lr_ratio": { inert: [0], because: "the critic's rate stays as it is" },
  "critic.optim.lr_scheduler_type": { inert: ["constant"], because: "the critic's rate stays as it is" },
  "critic.optim.warmup_style": { inert: ["constant"], because: "the critic's rate stays as it is" },
  // Models.
  "actor_rollout_ref.model.hf_config_path": { inert: [], same: "model.path", because: modelFolder },
  "actor_rollout_ref.model.tokenizer_path": { inert: [], same: "model.path", because: modelFolder },
  "actor_rollout_ref.model.custom_chat_template": unset("the chat template is the tokenizer's style"),
  "actor_rollout_ref.model.external_lib": unset("models are data; no code of theirs is loaded"),
  "actor_rollout_ref.model.override_config": { inert: [{}], because: modelFolder },
  "actor_rollout_ref.ref.model": { inert: [{}], because: "the reference policy is the starting weights" },
  "critic.model.path": oneModel,
  "critic.model.tokenizer_path": oneModel,
  "critic.model.lora_rank": likeThePolicys("rank"),
  "critic.model.lora_alpha": likeThePolicys("alpha"),
  "critic.model.target_modules": likeThePolicys("target_modules"),
  "critic.model.override_config": { inert: [{}], because: modelFolder },
  "critic.model.external_lib": unset("models are data; no code of theirs is loaded"),
  // Rewards.
  "custom_reward_function.path": unset(
    "rewards come from environments: custom_envs.TAG.wrappers changes them, and a module of yours may be one",
  ),
  "reward_model.enable": off("rewards come from environments"),
  // Generation.
  "actor_rollout_ref.rollout.n": { inert: [1], because: "set es_manager.train.group_size instead" },
  "actor_rollout_ref.rollout.ignore_eos": off("a reply ends with its end token"),
  "actor_rollout_ref.rollout.over_sample_rate": { inert: [0], because: "every admitted group is played to its end" },
  "actor_rollout_ref.rollout.skip_rollout": off("episodes are played in every run"),
  "actor_rollout_ref.rollout.multi_turn.enable": off("turns are RAGEN's: set rollout.max_turn"),
  "actor_rollout_ref.rollout.val_kwargs.top_p": { inert: [1], because: "validation samples from all tokens" },
  "actor_rollout_ref.rollout.val_kwargs.top_k": { inert: [-1, 0], because: "validation samples from all tokens" },
  "actor_rollout_ref.rollout.val_kwargs.n": { inert: [1], because: "set es_manager.val.group_size instead" },
  "actor_rollout_ref.rollout.rollout_filter_ratio": {
    inert: [1],
    because: "use filter.strategy=top_k with filter.value instead",
  },
  // Runs.
  "trainer.validation_steps": { inert: [1], because: "set es_manager.val.env_groups instead" },
  // Evaluation.
  "output.keep_batch_keys": unset("episodes are written as texts, without tensors"),
  "output.keep_non_tensor_keys": unset("every line has its messages and its metadata"),
  "output.keep_meta_info": { inert: [true], because: "the summary is always written" },
  "output.save_jsonl_backup": { inert: [true, false], because: "JSON lines are written in any case" },
  "output.save_pkl_backup": off("episodes are written as JSON lines only"),
};
