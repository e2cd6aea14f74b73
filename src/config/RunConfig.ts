/**
 * The schema of the run file: a section for each part of the program, with RAGEN's values as defaults. Of an environment preset
 * (`custom_envs`) it decodes all but `env_config` and `wrappers`, which their environment and wrappers decode.
 */
import { Schema } from "effect";
import { EvaluationSection, OutputSection } from "./EvaluationSection.ts";
import {
  aboveZero,
  atOnce,
  between,
  coefficient,
  count,
  decay,
  episodes,
  episodesOrNone,
  epsilon,
  field,
  folderName,
  fraction,
  learningRate,
  milliseconds,
  millisecondsOrNone,
  nonNegative,
  path,
  port,
  reward,
  section,
  signedCoefficient,
  steps,
  stepsOrNone,
  threads,
  tokens,
  url,
  whole,
} from "./field.ts";

/** Most tags, sources or stop sequences of a run. */
const mostListed = 256;
const temperature = between(0, 100);

export const RunSection = Schema.Struct({
  name: field(folderName, "millrace", "Name of the run's folder under run.dir."),
  dir: field(path, "runs", "Where run folders are made."),
  seed: field(count, 0, "Seed of every random stream of the run except the instances."),
});

export const KeepBestSection = Schema.Struct({
  metric: field(
    Schema.String,
    "",
    "What a checkpoint is judged by, by its name in docs/metrics.md, e.g. val-env/success; empty keeps no best one.",
  ),
  mode: field(Schema.Literals(["max", "min"]), "max", "Whether the largest value is the best, or the smallest."),
  patience: field(stepsOrNone, 0, "Stop once so many values in a row were no better than the best; 0 never."),
});

export const TrainerSection = Schema.Struct({
  total_training_steps: field(steps, 200, "Windows consumed before the run ends."),
  test_freq: field(stepsOrNone, 10, "Validate every so many steps; 0 only at the end."),
  val_before_train: field(Schema.Boolean, true, "Validate the starting weights."),
  val_at_end: field(Schema.Boolean, true, "Validate the final weights."),
  save_freq: field(stepsOrNone, 100, "Checkpoint every so many steps; 0 only at the end."),
  max_checkpoints: field(whole(1, 100_000), 2, "Newest checkpoints kept; a damaged one falls back to the one before."),
  empty_stop_steps: field(stepsOrNone, 5, "Stop after so many consecutive empty selections; 0 never."),
  variance_stop_steps: field(
    stepsOrNone,
    0,
    "Stop when rewards within groups deviate less than a share of their mean over the first so many steps, for as many steps in a row; 0 never (RAGEN: 10).",
  ),
  variance_stop_share: field(fraction, 0.1, "That share."),
  success_stop_validations: field(
    stepsOrNone,
    0,
    "Stop after so many consecutive validations in which a preset succeeds in less than a share of its episodes; 0 never (RAGEN: 5).",
  ),
  success_stop_share: field(fraction, 0.01, "That share."),
  keep_best: section(KeepBestSection, "The best checkpoint, kept beside the newest as checkpoints/best."),
  max_skipped_updates: field(
    stepsOrNone,
    5,
    "Fail after so many consecutive updates that train nothing, as numbers are not finite; 0 never.",
  ),
  trajectory_freq: field(
    stepsOrNone,
    4,
    "Write episodes to trajectories.jsonl at the first step and every so many after it; 0 never.",
  ),
  trajectory_groups: field(whole(0, 65_536), 1, "Groups of such a step that are written, whole."),
  gradient_analysis_mode: field(
    Schema.Boolean,
    false,
    "Decompose the policy's gradient by the reward variance of groups (docs/metrics.md).",
  ),
  gradient_analysis_every: field(steps, 50, "At the first step, and so many steps after it."),
  gradient_analysis_num_buckets: field(whole(1, 64), 6, "Buckets of groups, of the quantile mode."),
  gradient_analysis_bucket_mode: field(
    Schema.Literals(["quantile", "fixed_rv"]),
    "quantile",
    "Buckets of equally many groups, or with the edges 0, 1, 2, 3, 4, 5 of the groups' reward deviation.",
  ),
  gradient_analysis_only: field(Schema.Boolean, false, "Train nothing; the run only analyses."),
  gradient_analysis_log_prefilter: field(Schema.Boolean, false, "Analyse the groups that the filter leaves out, too."),
  exit_after_gradient_analysis: field(Schema.Boolean, false, "End the run after the first step that was analysed."),
  validation_episodes: field(episodesOrNone, 16, "Episodes of a validation that are written to trajectories.jsonl."),
});

export const PipelineSection = Schema.Struct({
  mode: field(
    Schema.Literals(["lockstep", "sync", "async"]),
    "async",
    "Admission: lockstep, sync or async (docs/pipeline.md).",
  ),
  max_staleness: field(
    whole(0, 1_000),
    2,
    "async: windows a group may be admitted ahead of the window being consumed (eta).",
  ),
  window_order: field(
    Schema.Literals(["admission", "completion"]),
    "admission",
    "Which groups form a window: the oldest admitted, or as they finish (biased to short episodes).",
  ),
  inbox: field(atOnce, 8, "Finished groups that may wait for their window; every other inbox holds one item."),
  rollout_concurrency: field(whole(0, 65_536), 0, "Groups in flight; 0 means as many as admission allows."),
  autotune: field(
    Schema.Boolean,
    false,
    "Change the concurrency of stages while the run goes on, where that raises throughput (docs/tuning.md).",
  ),
  step_threads: field(threads, 2, "Threads that step environments."),
  step_concurrency: field(whole(1, 4_096), 2, "Step batches in flight."),
  step_timeout_ms: field(milliseconds, 5_000, "A step slower than this fails its episode."),
  step_spares: field(
    threads,
    24,
    "Threads that may be started beside those, for steps that take far longer than usual.",
  ),
  step_give_way: field(
    Schema.Boolean,
    true,
    "The thread of such a step gives way to all others once it takes 10 times the slowest so far, 500 ms at least (Linux).",
  ),
  step_quarantine: field(
    whole(0, 1_000_000),
    2,
    "Time-outs and crashes of an instance after which its steps fail at once, for the rest of the run; 0 never.",
  ),
  step_inline: field(Schema.Boolean, false, "Step environments on the main thread, without a time limit."),
  score_concurrency: field(whole(1, 64), 1, "Windows scored at once."),
  stop_deadline_ms: field(millisecondsOrNone, 30_000, "How long a stop waits for episodes in flight."),
  stall_ms: field(milliseconds, 60_000, "Time without an event after which the stall report is printed."),
});

export const ModelSection = Schema.Struct({
  path: field(path, "config/models/nano", "Hugging Face folder of the starting weights."),
  generator_threads: field(threads, 1, "Generator threads, each with one intra-op thread."),
  learner_lanes: field(threads, 1, "Threads that share the micro-batches of an update, each with sessions of its own."),
  learner_intra_op: field(threads, 1, "Intra-op threads of each of the learner's sessions."),
});

export const GroupsSection = Schema.Struct({
  env_groups: field(atOnce, 8, "Groups per window (P)."),
  group_size: field(whole(1, 4_096), 16, "Episodes per group, all of one seed (G)."),
  tags: field(
    Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(mostListed)),
    ["CoordSokoban"],
    "Environment presets.",
  ),
  n_groups: field(
    Schema.NonEmptyArray(episodes).check(Schema.isMaxLength(mostListed)),
    [8],
    "Groups of each tag; sums to env_groups.",
  ),
  seed: field(count, 10_000, "First instance seed."),
});

export const ValidationSection = Schema.Struct({
  env_groups: field(episodes, 512, "Validation instances."),
  group_size: field(whole(1, 4_096), 1, "Episodes per validation instance."),
  tags: field(
    Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(mostListed)),
    ["CoordSokoban"],
    "Environment presets.",
  ),
  n_groups: field(
    Schema.NonEmptyArray(episodes).check(Schema.isMaxLength(mostListed)),
    [512],
    "Instances of each tag; sums to env_groups.",
  ),
  seed: field(count, 123, "First instance seed; the same instances every time."),
  temperature: field(temperature, 0.5, "Sampling temperature of validation; 0 is greedy."),
});

export const ManagerSection = Schema.Struct({
  format_penalty: field(reward, -0.1, "Added once per turn with an unreadable reply or an illegal action."),
  step_penalty: field(nonNegative, 0, "Taken off for every action that is carried out."),
  think_quality_penalty: field(nonNegative, 0, "Taken off per turn whose thought has fewer than 10 characters."),
  think_len_penalty: field(
    nonNegative,
    0,
    "Taken off per turn for a thought longer than think_len_limit, times its excess over that limit as a share of it.",
  ),
  think_len_limit: field(whole(-1, 1_000_000_000), -1, "Characters of a thought that cost nothing; -1 no limit."),
  think_coord_fmt_penalty: field(
    nonNegative,
    0,
    "Taken off per turn whose thought does not begin with Player: (row, col), or is missing.",
  ),
  train: section(GroupsSection, "Training groups."),
  val: section(ValidationSection, "Validation groups."),
});

export const RolloutSection = Schema.Struct({
  template: field(
    Schema.Literals(["ragen", "compact"]),
    "ragen",
    "Prompt texts: RAGEN's, or short ones for small models.",
  ),
  enable_think: field(Schema.Boolean, true, "Replies carry <think>…</think> before <answer>…</answer>."),
  max_turn: field(whole(1, 10_000), 5, "Turns per episode."),
  max_actions_per_turn: field(whole(1, 10_000), 2, "Actions taken of one reply."),
  action_sep: field(Schema.NonEmptyString, "||", "Separates the actions of one reply."),
  context: field(
    Schema.Literals(["full", "limited_multi_turn", "single_turn"]),
    "full",
    "What a turn's prompt shows: the whole chat, a chat of the last turns, or one message that retells them (docs/rollout.md).",
  ),
  max_context_window: field(
    whole(-1, 10_000),
    -1,
    "Turns that such a prompt shows, its own included: -1 all of them, 1 no history. The full context shows all.",
  ),
  overflow: field(
    Schema.Literals(["end", "drop"]),
    "end",
    "What a history does that outgrows max_model_len: end the episode, or drop the oldest turns.",
  ),
  summary: field(
    Schema.Literals(["none", "facts", "policy"]),
    "none",
    "What stands for the turns out of sight: nothing, a list of facts, or a summary that the policy writes.",
  ),
  summary_length: field(tokens, 100, "Tokens allowed in a summary that the policy writes."),
  train_summary: field(
    Schema.Boolean,
    false,
    "Train on the summaries that the policy writes, each with its episode's reward.",
  ),
  max_model_len: field(tokens, 3600, "Context, response tokens included."),
  response_length: field(tokens, 400, "Tokens reserved for, and allowed in, one reply."),
  enable_response_mask: field(
    Schema.Boolean,
    true,
    "Train on sampled tokens only; false: also on what the environment shows after the system message (world modelling).",
  ),
});

export const GenerationSection = Schema.Struct({
  slots: field(atOnce, 128, "Sequences with a key-value cache at once, per generator thread."),
  temperature: field(temperature, 1, "Sampling temperature of training."),
  top_k: field(whole(-1, 10_000_000), -1, "Keep the k likeliest tokens; -1 all."),
  top_p: field(fraction, 1, "Keep the smallest set of tokens with this mass."),
  allow_truncated_sampling: field(
    Schema.Boolean,
    false,
    "Allow top_k, and top_p below 1, in training although they bias the importance weights.",
  ),
  stop: field(
    Schema.Array(Schema.NonEmptyString),
    ["</answer>"],
    "Stop sequences, matched on decoded bytes, kept in the reply.",
  ),
  kv_on_update: field(
    Schema.Literals(["keep", "recompute"]),
    "keep",
    "What to do with key-value caches of older weights: keep or recompute.",
  ),
  prefill_tokens: field(tokens, 2048, "Most prompt tokens fed in one step."),
});

export const RewardSection = Schema.Struct({
  use_turn_scores: field(Schema.Boolean, false, "Place each turn's reward at its own last token."),
  grouping: field(Schema.Literals(["state", "inductive", "batch"]), "state", "Normalise by group, tag or batch."),
  method: field(Schema.Literals(["identity", "mean", "mean_std", "asym_clip"]), "identity", "Reward normalisation."),
});

export const RefillSection = Schema.Struct({
  target: field(
    whole(0, 65_536),
    0,
    "Groups that a window trains on: of which fewer are kept, it asks for more, and a surplus leaves it; 0 off.",
  ),
  rounds: field(whole(1, 1_000), 3, "Most times that a window asks; then it trains on what is there."),
  batch: field(whole(0, 65_536), 0, "Groups that it asks for at a time; 0 as many as it misses."),
});

export const FilterSection = Schema.Struct({
  metric: field(
    Schema.Literals(["reward_variance", "reward", "reward_sum", "entropy", "entropy_variance", "length"]),
    "reward_variance",
    "Score of a group.",
  ),
  strategy: field(
    Schema.Literals(["top_p", "top_k", "top_k_abs", "min_p", "percentile_range", "within_group"]),
    "top_p",
    "Selection rule.",
  ),
  value: field(coefficient, 1, "Parameter of the rule."),
  type: field(Schema.Literals(["largest", "smallest"]), "largest", "Which end of the ranking is kept."),
  top_p_mode: field(Schema.Literals(["linear", "softmax"]), "linear", "How top_p accumulates mass."),
  include_zero: field(Schema.Boolean, true, "Keep groups whose score is zero."),
  selection_eps: field(coefficient, 0.01, "Slack of the linear rule's threshold, in units of the score."),
  percentile_low: field(fraction, 0, "percentile_range: keep groups from this share of the ranking on."),
  percentile_high: field(fraction, 1, "percentile_range: and up to this one."),
  loss_scaling: field(Schema.Literals(["none", "linear", "sqrt"]), "none", "Scale advantages by the kept share."),
  refill: section(RefillSection, "More groups for a window of which too few were kept."),
});

export const KlControlSection = Schema.Struct({
  type: field(
    Schema.Literals(["fixed", "adaptive"]),
    "fixed",
    "Whether the coefficient follows the measured divergence.",
  ),
  kl_coef: field(coefficient, 0, "Coefficient of the divergence in the reward, or the one that adaptive starts with."),
  target_kl: field(aboveZero(1_000_000), 0.1, "adaptive: the divergence to hold, nats per token."),
  horizon: field(whole(1, 1_000_000_000), 10_000, "adaptive: sequences over which the coefficient moves by the error."),
});

export const AlgorithmSection = Schema.Struct({
  adv_estimator: field(
    Schema.Literals(["gae", "grpo", "brpo", "arpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline"]),
    "gae",
    "Advantage estimator; only gae has a critic. brpo compares with the whole batch, arpo takes the score as it is.",
  ),
  gamma: field(fraction, 1, "Discount per token."),
  lam: field(fraction, 1, "GAE lambda."),
  bi_level_gae: field(Schema.Boolean, false, "GAE first over the ends of turns, then within each turn."),
  high_level_gamma: field(fraction, 0.95, "Discount per turn of bi-level GAE."),
  norm_adv_by_std_in_grpo: field(
    Schema.Boolean,
    true,
    "GRPO divides by the group's standard deviation, and BRPO by the batch's (false: Dr.GRPO).",
  ),
  soft_advantage_reweight: field(
    Schema.Boolean,
    false,
    "GRPO: multiply advantages by the group's standard deviation over the largest of the batch.",
  ),
  grpo_advantage_length_weight: field(
    Schema.Boolean,
    false,
    "GRPO: divide advantages by the sequence's trained tokens over the batch's mean.",
  ),
  zero_task_advantage: field(
    Schema.Boolean,
    false,
    "Set all advantages to 0: an ablation, in which the entropy bonus and the divergence alone train the policy.",
  ),
  whiten: field(Schema.Boolean, true, "GAE advantages are whitened over the batch."),
  correction: field(
    Schema.Literals(["none", "decoupled", "loglinear", "tis", "icepop", "seq_tis", "seq_mask", "seq_reject", "vtrace"]),
    "none",
    "Off-policy correction: clipped PPO against mu, or against pi_prox with the weights of docs/algorithms.md.",
  ),
  correction_cap: field(coefficient, 2, "Cap of the importance ratio pi_prox / mu; 0 none."),
  correction_floor: field(coefficient, 0.5, "Least importance ratio that icepop, seq_mask and seq_reject keep."),
  correction_ratio: field(
    Schema.Literals(["product", "geometric"]),
    "product",
    "How token ratios become that of a sequence, or of V-trace's turn.",
  ),
  vtrace_rho_bar: field(aboveZero(1_000_000), 1, "V-trace: cap of the ratio that weighs a turn (rho)."),
  vtrace_c_bar: field(coefficient, 1, "V-trace: cap of the ratio that passes later turns' errors on (c)."),
  use_kl_in_reward: field(
    Schema.Boolean,
    false,
    "Take the divergence from the reference policy off the reward of each sampled token.",
  ),
  kl_penalty: field(Schema.Literals(["k1", "abs", "k2", "k3"]), "k1", "Estimator of that divergence (Schulman 2020)."),
  kl_ctrl: section(KlControlSection, "The coefficient of the divergence in the reward."),
});

export const ActorSection = Schema.Struct({
  lr: field(learningRate, 1e-6, "Learning rate."),
  lr_warmup_steps: field(stepsOrNone, 0, "Updates of linear warm-up."),
  lr_decay: field(
    Schema.Literals(["constant", "linear", "cosine"]),
    "constant",
    "Schedule after warm-up, over total_training_steps.",
  ),
  betas: field(Schema.Tuple([decay, decay]), [0.9, 0.999], "AdamW moment decays."),
  eps: field(epsilon, 1e-8, "AdamW epsilon."),
  weight_decay: field(between(0, 10), 0.01, "AdamW decoupled weight decay."),
  grad_clip: field(coefficient, 1, "Global gradient norm; 0 off."),
  policy_loss: field(
    Schema.Literals(["ppo", "gspo", "geo_mean", "cispo", "gpg"]),
    "ppo",
    "Policy loss: PPO's clipped surrogate, GSPO, GMPO (geo_mean), CISPO or GPG (docs/pipeline.md).",
  ),
  clip_ratio_low: field(between(0, 1_000), 0.2, "PPO lower clip."),
  clip_ratio_high: field(between(0, 1_000), 0.28, "PPO upper clip."),
  clip_ratio_c: field(between(0, 1_000), 3, "Dual clip for negative advantages; 0 off."),
  entropy_coeff: field(signedCoefficient, 0.001, "Weight of the entropy bonus."),
  use_kl_loss: field(Schema.Boolean, false, "Penalise divergence from the reference policy (the starting weights)."),
  ref_update_freq: field(
    stepsOrNone,
    0,
    "Windows after which the reference policy becomes the policy as it is then, again and again; 0 never.",
  ),
  kl_loss_coef: field(coefficient, 0, "Weight of that penalty."),
  kl_loss_type: field(
    Schema.Literals(["k1", "abs", "k2", "k3", "k1+", "abs+", "k3+"]),
    "k3",
    "Estimator of the divergence (Schulman 2020); with a +, its gradient is that of k2.",
  ),
  loss_agg_mode: field(
    Schema.Literals(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]),
    "token-mean",
    "How token losses become one number, over the whole mini-batch.",
  ),
  ppo_epochs: field(whole(1, 1_000), 1, "Passes over a window."),
  ppo_mini_batch_size: field(episodes, 32, "Token sequences per optimiser step; with the full context, episodes."),
  micro_batch_tokens: field(tokens, 1024, "Padded tokens per forward and backward pass."),
});

export const CriticSection = Schema.Struct({
  lr: field(learningRate, 1e-5, "Learning rate."),
  lr_warmup_steps: field(stepsOrNone, 0, "Updates of linear warm-up."),
  betas: field(Schema.Tuple([decay, decay]), [0.9, 0.999], "AdamW moment decays."),
  eps: field(epsilon, 1e-8, "AdamW epsilon."),
  weight_decay: field(between(0, 10), 0.01, "AdamW decoupled weight decay."),
  grad_clip: field(coefficient, 1, "Global gradient norm; 0 off."),
  cliprange_value: field(coefficient, 0.5, "Value clip."),
  warmup_windows: field(stepsOrNone, 0, "Windows that train only the critic."),
  layers: field(whole(0, 1_024), 0, "Layers of the critic, the policy's first ones; 0 all of them."),
});

/** A preset; `env_config` is decoded by the environment that `env_type` names, each of `wrappers` by the wrapper of its `type`. */
export const PresetSection = Schema.Struct({
  env_type: Schema.NonEmptyString.annotate({
    description: "An environment of the package, or the path of a module with your own, relative to the run file.",
  }),
  max_actions_per_traj: field(episodes, 10, "Environment actions per episode."),
  env_instruction: field(Schema.String, "", "The description of the task in the system prompt."),
  max_tokens: field(tokens, 100, "Length that the prompt names; it is not enforced."),
  memory: field(
    Schema.Literals(["simple", "alfworld"]),
    "simple",
    "How rollout.context=single_turn retells earlier turns in the ragen template.",
  ),
  env_config: field(Schema.Record(Schema.String, Schema.Unknown), {}, "The environment's own keys."),
  wrappers: field(
    Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
    [],
    "Wrappers of the environment, the first innermost, e.g. [{type: time_limit, max_steps: 5}].",
  ),
});
export type Preset = typeof PresetSection.Type;

export const ConversationsSection = Schema.Struct({
  path: field(
    Schema.String,
    "",
    "Data file of conversations: .jsonl, .json (one array) or .parquet, a row each, with messages as OpenAI has them; empty for none.",
  ),
  val_path: field(Schema.String, "", "Data file of those to measure the loss on; empty takes val_share of path."),
  val_share: field(
    between(0, 0.9),
    0.05,
    "Share of path that is measured and not cloned, by a hash of each row's content.",
  ),
  max_rows: field(count, 0, "Rows read from the start of path; 0 all."),
  messages_key: field(Schema.NonEmptyString, "messages", "Column of the messages."),
  too_long: field(
    Schema.Literals(["cut", "leave_out"]),
    "cut",
    "Of a conversation that outgrows rollout.max_model_len, clone the turns that fit, or leave it out.",
  ),
  val_freq: field(stepsOrNone, 100, "Measure the loss every so many steps; 0 only at the end."),
});

export const SftSection = Schema.Struct({
  sources: field(
    Schema.Array(
      Schema.Struct({
        tag: Schema.NonEmptyString,
        player: field(
          Schema.Literals(["solver", "random"]),
          "solver",
          "Who plays: the solver (an adviser where there is none), or random legal actions.",
        ),
        episodes: field(episodes, 4096, "Episodes of this source."),
        mistakes: field(
          fraction,
          0,
          "Share of turns played at random and cloned too, so that something is left to learn.",
        ),
      }),
    ),
    [{ tag: "SimpleSokoban" }],
    "The demonstrations to clone, all mixed; [] for none.",
  ),
  conversations: section(ConversationsSection, "Conversations of your own to clone, mixed with the demonstrations."),
  steps: field(steps, 500, "Optimiser steps."),
  batch_size: field(atOnce, 64, "Episodes per step."),
  lr: field(learningRate, 1e-3, "Peak learning rate."),
  lr_warmup_steps: field(stepsOrNone, 20, "Updates of linear warm-up."),
  noise: field(
    fraction,
    0,
    "Share of turns played at random and not cloned, so that the turns after them start from more states.",
  ),
  save_freq: field(stepsOrNone, 100, "Checkpoint every so many steps; 0 only at the end, or when stopped."),
  output: field(path, "runs/sft", "Folder of the resulting checkpoint."),
  init: field(path, "random", "`random`, or a checkpoint folder to go on from."),
  architecture: section(
    Schema.Struct({
      hidden_size: field(whole(1, 16_384), 128, "Width."),
      intermediate_size: field(whole(1, 65_536), 384, "MLP width."),
      layers: field(whole(1, 1_024), 4, "Decoder layers."),
      heads: field(whole(1, 256), 4, "Query heads."),
      kv_heads: field(whole(1, 256), 2, "Key-value heads."),
      max_positions: field(tokens, 1024, "Longest context."),
    }),
    "Shape of a model started at random.",
  ),
});

export const WandbSection = Schema.Struct({
  mode: field(
    Schema.Literals(["offline", "online"]),
    "offline",
    "offline writes a folder that `wandb sync` uploads; online also streams to the server, with WANDB_API_KEY.",
  ),
  project: field(folderName, "millrace", "Project of the run."),
  entity: field(Schema.String, "", "User or team; empty for the key's own."),
  group: field(Schema.String, "", "Group of the run; empty for none."),
  tags: field(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(mostListed)), [], "Tags of the run."),
  base_url: field(url, "https://api.wandb.ai", "The server of online mode."),
  group_tables: field(
    Schema.Boolean,
    false,
    "Log the rewards of each step's groups, and the deviation of every group, as tables.",
  ),
  train_episodes: field(whole(0, 10_000), 128, "Rows of the table of training episodes at most, over the run."),
});

export const OtlpSection = Schema.Struct({
  endpoint: field(url, "http://127.0.0.1:4318", "The collector, without /v1/traces."),
  traces: field(Schema.Boolean, true, "Send a span for each group, turn, generate, step and update."),
  trace_groups: field(
    fraction,
    0.1,
    "Share of the groups whose spans are sent; all other spans always are. With metrics.trace, all groups are.",
  ),
  metrics: field(Schema.Boolean, true, "Send the gauges and the metrics of each step."),
});

export const PrometheusSection = Schema.Struct({
  port: field(port, 9464, "Port of /metrics; 0 takes any free one."),
  host: field(Schema.NonEmptyString, "127.0.0.1", "Address to listen on."),
});

export const sinkNames = ["console", "jsonl", "wandb", "tensorboard", "otlp", "prometheus"] as const;

export const MetricsSection = Schema.Struct({
  sinks: field(
    Schema.Array(Schema.Literals(sinkNames)),
    ["console", "jsonl"],
    "Where metrics go; metrics.jsonl is always written (docs/sinks.md).",
  ),
  wandb: section(WandbSection, "Weights & Biases."),
  otlp: section(OtlpSection, "OpenTelemetry."),
  prometheus: section(PrometheusSection, "Prometheus."),
  trace: field(
    Schema.Boolean,
    false,
    "Write trace.json, which Perfetto opens: stages, slots, threads, and weights to tokens.",
  ),
  events: field(Schema.Boolean, true, "Write events.jsonl, which the page's time travel reads."),
  console: field(
    Schema.Literals(["auto", "live", "plain", "off"]),
    "auto",
    "Live block on a terminal, plain lines otherwise.",
  ),
  refresh_ms: field(milliseconds, 250, "Refresh of the live block."),
  sample_ms: field(milliseconds, 500, "Sampling of the gauges."),
});

/** Collapse measurement (RAGEN's `collapse_detection`). */
export const CollapseSection = Schema.Struct({
  first_turn_enabled: field(
    Schema.Boolean,
    false,
    "Measure whether the thoughts of first turns tell of their prompts (docs/metrics.md).",
  ),
  multi_turn_enabled: field(Schema.Boolean, false, "The same of any turns of the episodes."),
  compute_freq: field(steps, 5, "Measure at the first step, and every so many."),
  num_samples: field(whole(0, 65_536), 64, "Thoughts drawn for it, less where max_share says so; 0 all."),
  placement: field(
    Schema.Literals(["auto", "idle", "before_update"]),
    "auto",
    "In the learner's idle time after the window's update; before the update, which waits; auto: idle, and before the next update where there was no idle time.",
  ),
  std_eps: field(epsilon, 1e-3, "Added to the deviation that z-scores divide by."),
  ema_decay: field(decay, 0.9, "Decay of the running means."),
});

export const DiagnosticsSection = Schema.Struct({
  max_share: field(between(0, 1_000), 0.1, "Share of the updates' work that measurements may add, counted in tokens."),
  collapse: section(CollapseSection, "Template collapse: what thoughts tell of their prompts."),
});

export const RunConfig = Schema.Struct({
  run: section(RunSection, "The run's name and folder."),
  trainer: section(TrainerSection, "How long, how often."),
  pipeline: section(PipelineSection, "Stages and their admission."),
  model: section(ModelSection, "The policy."),
  es_manager: section(ManagerSection, "Which environments, how many."),
  rollout: section(RolloutSection, "Episodes."),
  generation: section(GenerationSection, "The generator."),
  reward: section(RewardSection, "Scores."),
  filter: section(FilterSection, "SNR-adaptive filter."),
  algorithm: section(AlgorithmSection, "Advantages and corrections."),
  actor: section(ActorSection, "Policy update."),
  critic: section(CriticSection, "Value update."),
  diagnostics: section(DiagnosticsSection, "What the policy's thoughts and gradients say of it."),
  sft: section(SftSection, "Behaviour cloning."),
  metrics: section(MetricsSection, "Sinks."),
  evaluation: section(EvaluationSection, "Who plays an evaluation."),
  output: section(OutputSection, "The episodes of an evaluation as a file."),
  custom_envs: field(Schema.Record(Schema.String, PresetSection), {}, "Environment presets by tag."),
});
export type RunConfig = typeof RunConfig.Type;
