/** Metrics of played episodes, in training (`train`) and in validation (`val-env`). Failed episodes count in `episodes/failed` alone. */
import { family, metric } from "./Metric.ts";

export type Split = "train" | "val-env";

export const episodes = {
  success: family("{split}/success", "share", "share", "Episodes that succeeded."),
  return: family(
    "{split}/charts/avg_episode_return",
    "mean",
    "reward",
    "Rewards of an episode with its format penalties.",
  ),
  responseLength: family("{split}/response_length", "mean", "tokens", "Tokens sampled in an episode."),
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
  failed: family("{split}/episodes/failed", "counter", "episodes", "Episodes that could not be played to an end."),
} as const;

/** The same by preset. */
export const ofTag = {
  success: family("{split}/{tag}/success", "share", "share", "Episodes of the preset that succeeded."),
  actions: family("{split}/{tag}/num_actions", "mean", "actions", "Actions executed in an episode."),
  return: family(
    "{split}/{tag}/avg_episode_return",
    "mean",
    "reward",
    "Rewards of an episode with its format penalties.",
  ),
  pass: family(
    "{split}/{tag}/pass@{size}",
    "share",
    "share",
    "Groups of this size in which at least one episode succeeded.",
  ),
  info: family(
    "{split}/{tag}/{info}",
    "mean",
    "1",
    "A number the environment reports, per turn, in total or at the end by its name.",
  ),
} as const;

export const lengths = {
  mean: metric("response_length/mean", "mean", "tokens", "Tokens sampled in an episode."),
  max: metric("response_length/max", "max", "tokens", "Tokens sampled in the longest episode."),
  min: metric("response_length/min", "min", "tokens", "Tokens sampled in the shortest episode."),
  clipped: metric(
    "response_length/clip_ratio",
    "share",
    "share",
    "Episodes with a reply that was cut at its token limit.",
  ),
} as const;
