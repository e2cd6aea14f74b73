/** Checks of lengths, contexts, thoughts and the capacity of slots and windows. */
import type { RunConfig } from "../RunConfig.ts";
import { type Check, problemIf } from "./Check.ts";

export const lengths: Check = ({ rollout }) =>
  problemIf(
    rollout.response_length >= rollout.max_model_len,
    () =>
      `rollout.response_length: ${rollout.response_length}: expected less than rollout.max_model_len (${rollout.max_model_len}); nearest: ${rollout.max_model_len - 1}`,
  );

/** Most token sequences that one episode is trained in. */
const maxSequences = ({ context, max_turn, overflow, train_summary }: RunConfig["rollout"]): number =>
  context === "full" && overflow === "end" ? 1 : max_turn * (train_summary ? 2 : 1);

export const context: Check = ({ reward, rollout }) => {
  const { context, max_context_window, max_model_len, overflow, summary, summary_length, train_summary } = rollout;
  return [
    ...problemIf(
      max_context_window === 0,
      () => "rollout.max_context_window: 0: expected -1 (all turns) or at least 1, the turn itself; nearest: 1",
    ),
    ...problemIf(
      summary !== "none" && context === "full" && overflow === "end",
      () =>
        `rollout.summary: ${summary}: no turn is ever out of sight with rollout.context=full and rollout.overflow=end; nearest: none`,
    ),
    ...problemIf(
      summary === "policy" && summary_length >= max_model_len,
      () =>
        `rollout.summary_length: ${summary_length}: expected less than rollout.max_model_len (${max_model_len}); nearest: ${max_model_len - 1}`,
    ),
    ...problemIf(
      train_summary && summary !== "policy",
      () =>
        `rollout.train_summary: true: the policy writes no summaries with rollout.summary=${summary}; nearest: false`,
    ),
    ...problemIf(
      train_summary && reward.use_turn_scores,
      () =>
        "rollout.train_summary: true: with reward.use_turn_scores a summary has no reward of its own; nearest: false",
    ),
  ];
};

export const thoughts: Check = ({ es_manager, rollout }) => {
  const { think_coord_fmt_penalty, think_len_limit, think_len_penalty, think_quality_penalty } = es_manager;
  const costs = { think_coord_fmt_penalty, think_len_penalty, think_quality_penalty };
  return [
    ...Object.entries(costs).flatMap(([key, cost]) =>
      problemIf(
        cost > 0 && !rollout.enable_think,
        () => `es_manager.${key}: ${cost}: replies have no thoughts with rollout.enable_think=false; nearest: 0`,
      ),
    ),
    ...problemIf(
      think_len_penalty > 0 && think_len_limit < 1,
      () =>
        `es_manager.think_len_penalty: ${think_len_penalty}: it needs es_manager.think_len_limit, a number of characters; nearest: 0`,
    ),
  ];
};

export const capacity: Check = ({ actor, es_manager, generation, model, rollout }) => {
  const { env_groups, group_size } = es_manager.train;
  const slots = generation.slots * model.generator_threads;
  const episodes = env_groups * group_size;
  const sequences = episodes * maxSequences(rollout);
  const sequenceCount = sequences === episodes ? "" : `, ${sequences} token sequences at most`;
  return [
    ...problemIf(
      slots < group_size,
      () =>
        `generation.slots: ${generation.slots}: a group of es_manager.train.group_size (${group_size}) does not fit; nearest: ${Math.ceil(group_size / model.generator_threads)}`,
    ),
    ...problemIf(
      actor.ppo_mini_batch_size > sequences,
      () =>
        `actor.ppo_mini_batch_size: ${actor.ppo_mini_batch_size}: a window has ${episodes} episodes (${env_groups} groups of ${group_size})${sequenceCount}; nearest: ${sequences}`,
    ),
  ];
};
