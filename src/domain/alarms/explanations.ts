/** Texts that explain a sign to people: its title, its likely cause, and advice. */
import type { SignName } from "./signs.ts";

export interface Explanation {
  readonly title: string;
  readonly cause: string;
  readonly advice: string;
  /** The kind of reply that shows the problem, if any does. */
  readonly example?: "unread" | "illegal" | "any" | "cut";
}

const format: Explanation = {
  title: "no reply can be read",
  cause:
    "It points to the format: the model does not write its answer as the prompt asks, or is cut before it comes to it.",
  advice:
    "Show the model the format first (millrace sft, then model.path), or take one that was tuned to follow instructions; give replies more room (rollout.response_length); rollout.template and rollout.enable_think say which format is asked for.",
  example: "unread",
};

const legality: Explanation = {
  title: "no action is legal",
  cause:
    "It points to the environment or its prompt: what replies name is none of its actions, or it takes none of them as valid.",
  advice:
    "Compare the reply with the legal actions. Name them in the instruction (custom_envs.TAG.env_instruction), separate several as rollout.action_sep says, or mend the environment. A small model does not take up names that it was never trained on: clone a solver first (millrace sft), or take a larger model.",
  example: "illegal",
};

const variance: Explanation = {
  title: "no group has rewards that differ",
  cause:
    "It points to the reward: a group teaches only where its episodes earn different rewards. The reward is constant, the environment fails, or its instances are far too hard or too easy for the model.",
  advice:
    "Look at rewards with millrace trace. Take easier or more varied instances (custom_envs.TAG.env_config), more episodes in a group (es_manager.train.group_size), or a filter that keeps more (filter.value, filter.include_zero).",
  example: "any",
};

const penalties: Explanation = {
  title: "only penalties differ within groups",
  cause:
    "It points to the reward: the run learns to avoid penalties such as that of the format, and nothing of its task. The environment pays nothing or all alike, or its instances are far too hard for the model.",
  advice:
    "Look at rewards with millrace trace, and at the environment with millrace env validate. Let it pay for parts of the task, take easier instances (custom_envs.TAG.env_config), or more episodes in a group (es_manager.train.group_size). Without es_manager.format_penalty such a run would have nothing to learn from.",
  example: "any",
};

const context: Explanation = {
  title: "contexts are full",
  cause: "It points to the context: the episodes are longer than rollout.max_model_len, and end without their reward.",
  advice:
    "Raise rollout.max_model_len, show less of the history (rollout.context, rollout.max_context_window), shorten replies (rollout.response_length), or allow fewer turns (rollout.max_turn).",
  example: "cut",
};

const entropy: Explanation = {
  title: "replies no longer vary",
  cause:
    "It points to the learning rate, or to a reward that one reply earns everywhere: the policy has settled on it and explores nothing else.",
  advice:
    "Go on from an earlier checkpoint with a lower actor.lr, a little actor.entropy_coeff, a higher generation.temperature, or a divergence to the reference (actor.use_kl_loss, actor.kl_loss_coef).",
  example: "any",
};

const thoughts: Explanation = {
  ...entropy,
  title: "thoughts have collapsed",
  cause:
    "It points to the reward or the learning rate: thoughts are the same whatever the prompt is, so that they decide nothing.",
};

const divergence: Explanation = {
  title: "the policy runs away",
  cause:
    "It points to the learning rate, or to samples that are too old: updates are larger than what their samples support.",
  advice:
    "Lower actor.lr; hold the policy to its reference (actor.use_kl_loss, actor.kl_loss_coef); lower pipeline.max_staleness, or correct for it (algorithm.correction); keep actor.grad_clip and the clip ratios.",
};

const decline: Explanation = {
  title: "success has fallen well after its best",
  cause: "It points to the learning rate: the policy has lost what it had learnt.",
  advice:
    "Go on from the checkpoint before the fall with a lower actor.lr, or a stronger divergence to the reference (actor.use_kl_loss, actor.kl_loss_coef). trainer.keep_best keeps the best checkpoint.",
};

export const explanations: Readonly<Record<SignName, Explanation>> = {
  unread: format,
  illegal: legality,
  constant: variance,
  unpaid: penalties,
  cutInTraining: context,
  cutInValidation: context,
  certain: entropy,
  collapsed: thoughts,
  updateKl: divergence,
  referenceKl: divergence,
  effectiveShare: divergence,
  declinedTraining: decline,
  declinedValidation: decline,
};
