/** Metrics of the engine: its stages, generators, weights, balance and time. */
import { family, metric } from "./Metric.ts";

/** Metrics of a stage: its slot-time, queue and items. */
export const stage = {
  busy: family("stage/{stage}/busy", "share", "share", "Slot-time in which the stage worked."),
  starved: family("stage/{stage}/starved", "share", "share", "Slot-time in which the stage had nothing to do."),
  blocked: family(
    "stage/{stage}/blocked",
    "share",
    "share",
    "Slot-time in which the stage was done and waited for downstream.",
  ),
  queue: family("stage/{stage}/queue", "mean", "items", "Items waiting in front of the stage."),
  concurrency: family("stage/{stage}/concurrency", "level", "slots", "Slots of the stage."),
  items: family("stage/{stage}/items", "counter", "items", "Items the stage passed on."),
} as const;

const counts = <const Prefix extends string>(prefix: Prefix, unit: "groups" | "tokens") => ({
  admitted: metric(`${prefix}/admitted`, "total", unit, `All ${unit} that were admitted.`),
  trained: metric(`${prefix}/trained`, "total", unit, `Admitted ${unit} that an update was made with.`),
  filtered: metric(`${prefix}/filtered`, "total", unit, `Admitted ${unit} that the filter left out.`),
  failed: metric(
    `${prefix}/failed`,
    "total",
    unit,
    unit === "groups" ? "Groups with too few usable episodes." : "Tokens of groups with too few usable episodes.",
  ),
  dropped: metric(
    `${prefix}/dropped`,
    "total",
    unit,
    `Admitted ${unit} that a stop cut, or that were kept for an update that was skipped.`,
  ),
  inFlight: metric(`${prefix}/in_flight`, "level", unit, `Admitted ${unit} whose end is still open.`),
});

/** admitted = trained + filtered + failed + dropped + in_flight, at every step. */
export const ledger = { groups: counts("ledger", "groups"), tokens: counts("ledger/tokens", "tokens") } as const;

/** Tokens per second. */
export const tokens = {
  generated: metric("tokens/generated_per_second", "mean", "tokens/s", "Tokens sampled, over the time of the step."),
  prefilled: metric(
    "tokens/prefilled_per_second",
    "mean",
    "tokens/s",
    "Prompt tokens computed, over the time of the step.",
  ),
  trained: metric(
    "tokens/trained_per_second",
    "mean",
    "tokens/s",
    "Tokens that took part in an update, over the time of the step.",
  ),
} as const;

/** Metrics of the generators. */
export const generation = {
  refilled: metric(
    "generation/refilled_tokens",
    "total",
    "tokens",
    "Tokens fed again, by prefills or by steps, after their cache was evicted, recomputed or resumed; since this process began.",
  ),
  rowsPerStep: metric(
    "generation/rows_per_step",
    "mean",
    "1",
    "Sampled tokens over decode steps: about the sequences that share one step.",
  ),
  splitShare: metric(
    "generation/split_share",
    "share",
    "share",
    "Decode steps that were taken while sequences of several weights versions waited; a step serves one version.",
  ),
  active: metric("generation/active", "level", "slots", "Sequences being decoded at the end of the step."),
  busy: metric("generation/busy", "share", "share", "Time in which the generator threads computed."),
  adoptionMs: metric("generation/adoption_ms", "level", "ms", "Time the generators took to adopt the newest weights."),
} as const;

/** Step threads of this process. */
export const stepping = {
  lostThreads: metric("step/lost_threads", "total", "threads", "Step threads that steps hung, crashed or broke."),
  hungSeconds: metric(
    "step/hung_seconds",
    "total",
    "s",
    "Time of step threads until they were ended in a step that hung.",
  ),
  suspects: metric(
    "step/suspects",
    "level",
    "items",
    "Steps tried apart because they may hang or crash, and those that wait for it.",
  ),
  quarantined: metric(
    "step/quarantined_instances",
    "total",
    "items",
    "Instances whose steps fail at once since they hung or crashed.",
  ),
  strays: metric(
    "step/stray_errors",
    "total",
    "items",
    "Errors that environments left behind in step threads, outside of any step.",
  ),
} as const;

/** Parts of a run on other machines, by their role. */
export const servers = {
  up: family("servers/{role}/up", "level", "items", "Servers of the role that answer."),
  retrying: family(
    "servers/{role}/retrying",
    "level",
    "items",
    "Servers of the role that do not answer and are asked again.",
  ),
  lost: family(
    "servers/{role}/lost",
    "level",
    "items",
    "Servers of the role that are not asked again, or are shut out.",
  ),
} as const;

/** Rollout workers on other machines; absent in a run without them. */
export const workers = {
  joined: metric("workers/joined", "level", "items", "Rollout workers that are up."),
  slots: metric("workers/slots", "level", "slots", "Episodes that rollout workers can play at once."),
  playing: metric("workers/playing", "level", "groups", "Groups that rollout workers hold a lease of."),
  tokensPerSecond: metric(
    "workers/tokens_per_second",
    "level",
    "tokens/s",
    "Tokens that rollout workers sample, as they report.",
  ),
  oldest: metric(
    "workers/oldest_version",
    "level",
    "versions",
    "The oldest version that a rollout worker samples with.",
  ),
  results: metric(
    "workers/results",
    "total",
    "groups",
    "Groups played by rollout workers whose results were accepted.",
  ),
  resultBytes: metric(
    "workers/result_bytes",
    "total",
    "bytes",
    "Bytes of results received from rollout workers, those that were not accepted included.",
  ),
  duplicate: metric("workers/dropped/duplicate", "total", "groups", "Results of groups that had theirs already."),
  late: metric(
    "workers/dropped/late",
    "total",
    "groups",
    "Results that came after their group was leased to another worker.",
  ),
  otherRun: metric("workers/dropped/other_run", "total", "groups", "Results of an earlier start of the run."),
  stale: metric("workers/dropped/stale", "total", "groups", "Results of weights older than the admission asks for."),
  shutOut: metric(
    "workers/shut_out",
    "level",
    "items",
    "Workers whose results were refused so often in a row that they are given no group more.",
  ),
  refused: metric("workers/dropped/refused", "total", "groups", "Results that cannot be true, or were not leased."),
} as const;

/** The version of the weights. */
export const weights = {
  version: metric("weights/version", "level", "versions", "Version of the weights after the step."),
} as const;

/** Versions between the weights that sampled a token and those that it trained. */
export const staleness = {
  mean: metric(
    "staleness/mean",
    "mean",
    "versions",
    "Learner's version minus the version that sampled a token, over trained tokens.",
  ),
  max: metric(
    "staleness/max",
    "max",
    "versions",
    "Learner's version minus the version that sampled the stalest trained token.",
  ),
} as const;

/** Seconds of a step and of its phases. */
export const timing = {
  step: metric(
    "timing_s/step",
    "mean",
    "s",
    "From the closing of the step before to the end of this one's update; validations and checkpoints lie between steps.",
  ),
  filter: metric("timing_s/filter", "mean", "s", "The filter's scores of groups and its verdicts."),
  values: metric(
    "timing_s/values",
    "mean",
    "s",
    "The critic's values of the batch and, for a divergence in the reward, its scores by the reference policy.",
  ),
  advantages: metric("timing_s/adv", "mean", "s", "Advantages and returns."),
  update: metric("timing_s/update", "mean", "s", "The update of actor and critic, as the pipeline waited for it."),
  testing: metric("timing_s/testing", "mean", "s", "The validation of this step."),
  saving: metric("timing_s/save_checkpoint", "mean", "s", "The checkpoint of the step before."),
  total: metric("timing_s/total", "total", "s", "Training time since the run began, before a resume included."),
} as const;

/** Metrics of windows and updates. */
export const windows = {
  emptyInARow: metric(
    "rollout/consecutive_empty_after_filter_steps",
    "level",
    "windows",
    "Windows in a row of which the filter kept nothing.",
  ),
  skippedInARow: metric(
    "train/consecutive_skipped_updates",
    "level",
    "windows",
    "Updates in a row in which a network was not trained, because of numbers that are not finite.",
  ),
  batchSize: metric("train/batch_size", "counter", "episodes", "Episodes that took part in the update."),
  heldOut: metric(
    "train/groups/held_out",
    "counter",
    "groups",
    "Groups that play an instance of validation, for want of others.",
  ),
  lengthDrift: metric(
    "drift/trained_length_ratio",
    "mean",
    "1",
    "Mean length of trained over generated episodes; 1 where the filter prefers no length.",
  ),
  successDrift: metric(
    "drift/trained_success_difference",
    "mean",
    "1",
    "Share of successes among trained episodes minus that among generated ones; 0 where the filter prefers neither.",
  ),
  rewardDrift: metric(
    "drift/trained_reward_difference",
    "mean",
    "reward",
    "Mean reward of trained episodes, penalties included, minus that of generated ones.",
  ),
  attempts: metric(
    "train/rollout_attempts",
    "counter",
    "1",
    "Rounds of groups played for the window: one, and one more for each refill.",
  ),
  refilled: metric("rollout/refill_groups", "counter", "groups", "Groups of the window that its refills asked for."),
  earlyStopped: family(
    "early_stopped/{type}",
    "level",
    "1",
    "1 from the step on at which a rule of the run's own ends it.",
  ),
} as const;

export const alarms = {
  standing: family(
    "alarms/{alarm}",
    "level",
    "1",
    "1 while this alarm stands, 0 in the step in which it ends: format, variance, context, entropy, divergence or decline.",
  ),
} as const;

/** Generation on servers, since this process began. */
export const remoteGeneration = {
  prompted: metric(
    "generation/prompt_tokens",
    "total",
    "tokens",
    "Prompt tokens sent to servers, whatever they had cached of them.",
  ),
  replied: metric(
    "generation/reply_tokens",
    "total",
    "tokens",
    "Tokens that servers sampled, those behind the end of a reply too.",
  ),
  requests: metric("generation/requests", "total", "items", "Requests sent to servers."),
  repeated: metric(
    "generation/requests_repeated",
    "total",
    "items",
    "Requests to servers that failed and were repeated.",
  ),
  waiting: metric("generation/requests_waiting", "level", "items", "Requests that wait for a place at a server."),
  queued: metric(
    "generation/server_queue",
    "level",
    "items",
    "Requests that wait at servers, of any client, as they say.",
  ),
  running: metric("generation/server_running", "level", "items", "Requests that servers work on, of any client."),
  cache: metric("generation/server_cache", "level", "share", "Share of its cache that the fullest server uses."),
  cost: metric("generation/cost_usd", "total", "USD", "Cost of sent and sampled tokens at the run file's prices."),
} as const;

/** Training on a server, since this process began. */
export const remoteTraining = {
  forward: metric(
    "training_server/forward_tokens",
    "total",
    "tokens",
    "Tokens whose log-probabilities the training server was asked for.",
  ),
  backward: metric(
    "training_server/trained_tokens",
    "total",
    "tokens",
    "Tokens that the training server computed gradients of.",
  ),
  cost: metric(
    "training_server/cost_usd",
    "total",
    "USD",
    "Cost of the training server's forward and trained tokens at the run file's prices.",
  ),
} as const;

/** The task sampler, by the tag of a level: what it knows after the window, and how it will draw from it. */
export const sampler = {
  share: family("sampler/{tag}/share", "share", "share", "The window's groups of the preset that played this level."),
  probability: family(
    "sampler/{tag}/probability",
    "level",
    "share",
    "Probability that a group of the preset plays this level, as it is drawn from the newest posterior.",
  ),
  success: family(
    "sampler/{tag}/success",
    "level",
    "share",
    "Posterior mean of success at this level; 0.5 where nothing is remembered.",
  ),
  episodes: family(
    "sampler/{tag}/episodes",
    "level",
    "episodes",
    "Episodes at this level that the posterior remembers; older ones count less.",
  ),
  mixed: family(
    "sampler/{tag}/mixed",
    "level",
    "share",
    "Expected share of the level's groups that have both successes and failures, which alone teach by comparison.",
  ),
  cost: family(
    "sampler/{tag}/cost",
    "level",
    "1",
    "Tokens of an episode at this level, relative to the mean over levels.",
  ),
} as const;
