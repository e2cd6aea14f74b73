/** Metrics of played episodes, in training (`train`) and in validation (`val-env`). Failed episodes count in `episodes/failed` and among the endings. */
import { family, metric } from "./Metric.ts";

export type Split = "train" | "val-env";

/** Metrics of played episodes. */
export const episodes = {
  success: family("{split}/success", "share", "share", "Episodes that succeeded."),
  return: family("{split}/charts/avg_episode_return", "mean", "reward", "Rewards of an episode with its penalties."),
  responseLength: family(
    "{split}/response_length",
    "mean",
    "tokens",
    "Tokens sampled in a token sequence: an episode, or a turn in the turn-level context modes.",
  ),
  sequences: family("{split}/sequences", "mean", "1", "Token sequences of an episode, where they may be several."),
  summaryLength: family("{split}/summary_length", "mean", "tokens", "Tokens of a summary that the policy wrote."),
  penalty: family(
    "{split}/penalty/{reason}",
    "mean",
    "reward",
    "Reward that an episode lost for this reason: format, step, thought_quality, thought_length or thought_coordinates.",
  ),
  turns: family("{split}/turns", "mean", "turns", "Turns of an episode."),
  turnLength: family("{split}/turn_length", "mean", "tokens", "Tokens sampled in a turn."),
  parsed: family("{split}/parsed", "share", "share", "Turns whose reply could be parsed."),
  cutByLength: family("{split}/cut_by_length", "share", "share", "Turns whose reply was cut at its token limit."),
  filtered: family(
    "{split}/filtered",
    "share",
    "share",
    "Turns whose reply a filter of the chat endpoint kept back; of endpoints only.",
  ),
  entropy: family(
    "{split}/entropy",
    "mean",
    "nats",
    "Entropy of the distribution a token was sampled from, mean over the turns.",
  ),
  maxTile: family(
    "{split}/rollout/max_tile",
    "max",
    "1",
    "Highest tile at the end of any episode, of environments that report one (`final_max_tile`).",
  ),
  failed: family("{split}/episodes/failed", "counter", "episodes", "Episodes that could not be played to an end."),
} as const;

/**
 * The ways in which an episode ends. `environment`: the environment ended it, without success; `failed`: it could not be played to an end.
 */
const allEndings = ["succeeded", "environment", "max_turn", "max_actions", "context", "failed"] as const;
export type Ending = (typeof allEndings)[number];

/** Shares of the ways in which episodes end. */
export const endings = {
  all: allEndings,
  share: family(
    "{split}/ended/{how}",
    "share",
    "share",
    "Episodes that ended so, of all that were played, failed ones included: succeeded, or without success by environment, max_turn, max_actions, context (no room for another reply in rollout.max_model_len) or failed.",
  ),
  failure: family(
    "{split}/ended/failed/{reason}",
    "share",
    "share",
    "Episodes that failed for this reason, of all that were played; absent where none did: step_timeout, step_crashed, step_quarantined, step_error, agent_error, agent_timeout, agent_crashed, agent_aborted, never_opened, generator_crashed or stopped.",
  ),
} as const;

/** Metrics of played episodes by preset. */
export const ofTag = {
  success: family("{split}/{tag}/success", "share", "share", "Episodes of the preset that succeeded."),
  actions: family("{split}/{tag}/num_actions", "mean", "actions", "Actions executed in an episode."),
  return: family("{split}/{tag}/avg_episode_return", "mean", "reward", "Rewards of an episode with its penalties."),
  pass: family(
    "{split}/{tag}/pass@{size}",
    "share",
    "share",
    "Groups of this size in which at least one episode succeeded.",
  ),
  invalid: family(
    "{split}/{tag}/manager_invalid_action",
    "share",
    "share",
    "Turns of an episode in which no legal action was named.",
  ),
  episodicReturn: family(
    "{split}/{tag}/episodic_return",
    "mean",
    "reward",
    "Raw rewards of an episode, where the environment reports them (`raw_reward` or `total_raw_reward`).",
  ),
  maxTile: family(
    "{split}/{tag}/max_tile",
    "mean",
    "1",
    "Highest tile at the end of an episode, where the environment reports it (`final_max_tile`).",
  ),
  info: family(
    "{split}/{tag}/{info}",
    "mean",
    "1",
    "A number the environment reports, per turn, or at the end where its name begins with `final_`.",
  ),
  total: family(
    "{split}/{tag}/traj_sum/{info}",
    "mean",
    "1",
    "A number the environment reports as `total_{info}`, summed over an episode.",
  ),
  nonZero: family(
    "{split}/{tag}/non-zero/{info}",
    "mean",
    "1",
    "The same as the metric without `non-zero/`, over the episodes in which it is not 0; absent where there is none.",
  ),
  nonZeroTotal: family(
    "{split}/{tag}/non-zero/traj_sum/{info}",
    "mean",
    "1",
    "As `traj_sum/{info}`, over the episodes in which it is not 0.",
  ),
} as const;

/** Lengths of a window's token sequences. */
export const lengths = {
  mean: metric("response_length/mean", "mean", "tokens", "Tokens sampled in a token sequence."),
  max: metric("response_length/max", "max", "tokens", "Tokens sampled in the longest sequence."),
  min: metric("response_length/min", "min", "tokens", "Tokens sampled in the shortest sequence."),
  clipped: metric(
    "response_length/clip_ratio",
    "share",
    "share",
    "Sequences with a reply that was cut at its token limit.",
  ),
} as const;
