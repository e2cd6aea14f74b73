/**
 * Checks the relations between keys of a decoded run file, which the schema of a single key cannot. Each problem is one line that names a
 * key, its value and the nearest valid one.
 */
import { bestMetric } from "./bestMetric.ts";
import { creditChecks } from "./checkCredit.ts";
import { byNearest, choices } from "./nearest.ts";
import { endpointsOf, playersOf } from "./players.ts";
import type { RunConfig } from "./RunConfig.ts";
import { type Check, when } from "./relation.ts";
import { mostProblems, shown, shownText } from "./shown.ts";

/** `groups` split evenly among the tags; the first tags get one more where they do not divide. */
export const evenly = (groups: number, tags: number): readonly number[] =>
  Array.from({ length: tags }, (_, index) => Math.floor(groups / tags) + (index < groups % tags ? 1 : 0));

const groups: Check = ({ es_manager }) =>
  (["train", "val"] as const).flatMap((side) => {
    const { env_groups, n_groups, tags } = es_manager[side];
    const key = `es_manager.${side}.n_groups`;
    const value = shown(n_groups);
    if (env_groups < tags.length) {
      return [
        `es_manager.${side}.env_groups: ${env_groups}: fewer than the ${tags.length} tags; nearest: ${tags.length}`,
      ];
    }
    const nearest = shown(evenly(env_groups, tags.length));
    if (n_groups.length !== tags.length) {
      return [`${key}: ${value}: expected one number per tag (${tags.length}); nearest: ${nearest}`];
    }
    const sum = n_groups.reduce((total, count) => total + count, 0);
    return when(
      sum !== env_groups,
      () => `${key}: ${value} sums to ${sum}, but es_manager.${side}.env_groups is ${env_groups}; nearest: ${nearest}`,
    );
  });

const tags: Check = ({ custom_envs, es_manager, sft }) => {
  const known = Object.keys(custom_envs);
  const named = [
    { key: "es_manager.train.tags", tags: es_manager.train.tags },
    { key: "es_manager.val.tags", tags: es_manager.val.tags },
    { key: "sft.sources", tags: sft.sources.map(({ tag }) => tag) },
  ];
  return named.flatMap(({ key, tags }) => {
    const unknown = new Set(tags.filter((tag) => !Object.hasOwn(custom_envs, tag)));
    const lines = [...unknown].slice(0, mostProblems).map((tag) => {
      const nearest = byNearest(tag, known)[0];
      const hint =
        nearest === undefined
          ? "custom_envs is empty"
          : `nearest: ${shownText(nearest)}; all: ${choices(tag, known, 30)}`;
      return `${key}: ${shown(tag)} is no preset of custom_envs; ${hint}`;
    });
    const more = unknown.size - lines.length;
    return more > 0 ? [...lines, `${key}: … and ${more} more`] : lines;
  });
};

const sampling: Check = ({ generation }) => [
  ...when(
    generation.top_k === 0 || generation.top_k < -1,
    () => `generation.top_k: ${generation.top_k}: expected -1 (all tokens) or at least 1; nearest: -1`,
  ),
  ...when(
    generation.top_k >= 1 && !generation.allow_truncated_sampling,
    () =>
      `generation.top_k: ${generation.top_k}: truncated sampling biases the importance weights; nearest: -1, or set generation.allow_truncated_sampling=true`,
  ),
  ...when(
    generation.top_p < 1 && !generation.allow_truncated_sampling,
    () =>
      `generation.top_p: ${generation.top_p}: truncated sampling biases the importance weights; nearest: 1, or set generation.allow_truncated_sampling=true`,
  ),
  ...when(
    generation.temperature === 0,
    () => "generation.temperature: 0: training samples; expected a number above 0; nearest: 1",
  ),
];

const lengths: Check = ({ rollout, sft }) => [
  ...when(
    rollout.response_length >= rollout.max_model_len,
    () =>
      `rollout.response_length: ${rollout.response_length}: expected less than rollout.max_model_len (${rollout.max_model_len}); nearest: ${rollout.max_model_len - 1}`,
  ),
  ...when(
    sft.architecture.hidden_size % sft.architecture.heads !== 0,
    () =>
      `sft.architecture.heads: ${sft.architecture.heads}: expected a divisor of sft.architecture.hidden_size (${sft.architecture.hidden_size})`,
  ),
  ...when(
    sft.architecture.heads % sft.architecture.kv_heads !== 0,
    () =>
      `sft.architecture.kv_heads: ${sft.architecture.kv_heads}: expected a divisor of sft.architecture.heads (${sft.architecture.heads})`,
  ),
];

/** Estimators that compare the episodes of a group with each other. */
const withinGroup: readonly RunConfig["algorithm"]["adv_estimator"][] = [
  "grpo",
  "rloo",
  "reinforce_plus_plus_baseline",
];

const groupSize: Check = ({ algorithm: { adv_estimator }, es_manager, filter }) => {
  const { env_groups, group_size: size } = es_manager.train;
  const spread = filter.metric === "reward_variance" || filter.metric === "entropy_variance";
  const keepsAll = filter.strategy === "top_p" && filter.value >= 1 && filter.include_zero;
  const compares = withinGroup.includes(adv_estimator);
  const line = (because: string) => `es_manager.train.group_size: ${size}: ${because}; nearest: 2`;
  return [
    ...when(size < 2 && compares, () =>
      line(`algorithm.adv_estimator=${adv_estimator} compares the episodes of a group and needs at least 2`),
    ),
    ...when(size < 2 && !compares && spread && !keepsAll, () =>
      line(`filter.metric=${filter.metric} is a spread within a group and needs at least 2`),
    ),
    ...when(size * env_groups < 2 && adv_estimator === "brpo", () =>
      line("algorithm.adv_estimator=brpo compares the episodes of a window and needs at least 2"),
    ),
  ];
};

/** Strategies and what they ignore. */
const strategies: Check = ({ es_manager: { train }, filter }) => [
  ...when(
    filter.percentile_low >= filter.percentile_high,
    () =>
      `filter.percentile_low: ${filter.percentile_low}: expected less than filter.percentile_high (${filter.percentile_high}); nearest: 0`,
  ),
  ...when(
    filter.strategy === "within_group" && !filter.include_zero,
    () => "filter.include_zero: false: filter.strategy=within_group keeps every group; nearest: true",
  ),
  ...when(
    filter.strategy === "within_group" && (filter.value <= 0 || filter.value > 1),
    () =>
      `filter.value: ${filter.value}: filter.strategy=within_group keeps this share of a group's episodes; nearest: 1`,
  ),
  ...when(
    filter.strategy === "within_group" && Math.round(filter.value * train.group_size) < 2,
    () =>
      `filter.value: ${filter.value}: filter.strategy=within_group would keep one of the ${train.group_size} episodes of a group, which cannot vary; nearest: ${Math.min(1, 2 / train.group_size)}`,
  ),
];

const refill: Check = ({ es_manager: { train }, filter: { refill, strategy, value } }) => {
  const line = (because: string, nearest: number) =>
    `filter.refill.target: ${refill.target}: ${because}; nearest: ${nearest}`;
  const most = Math.max(1, Math.floor(value));
  return [
    ...when(refill.target > train.env_groups, () =>
      line(
        `a window has es_manager.train.env_groups (${train.env_groups}) groups before it asks for more`,
        train.env_groups,
      ),
    ),
    ...when(strategy === "top_k_abs" && refill.target > most, () =>
      line(`filter.strategy=top_k_abs keeps at most ${most} groups, however many come`, most),
    ),
  ];
};

/** Most episodes of a window, or of a validation. */
const mostEpisodes = 1_000_000;
/** Most parameters of a model started at random: what one array of its gradients can hold. */
const mostParameters = 2 ** 31;

/** Parameters of the decoder layers, embeddings aside. */
export const parametersOf = ({
  heads,
  hidden_size,
  intermediate_size,
  kv_heads,
  layers,
}: RunConfig["sft"]["architecture"]) =>
  layers * (2 * hidden_size ** 2 + 2 * hidden_size ** 2 * (kv_heads / heads) + 3 * hidden_size * intermediate_size);

/** Sizes that are fine one by one, and too much together. */
const products: Check = ({ es_manager, sft }) => [
  ...(["train", "val"] as const).flatMap((side) => {
    const { env_groups, group_size } = es_manager[side];
    return when(
      env_groups * group_size > mostEpisodes,
      () =>
        `es_manager.${side}.group_size: ${group_size}: ${env_groups} groups have ${env_groups * group_size} episodes, more than ${mostEpisodes}; nearest: ${Math.max(1, Math.floor(mostEpisodes / env_groups))}`,
    );
  }),
  ...when(
    parametersOf(sft.architecture) > mostParameters,
    () =>
      `sft.architecture: its layers have ${parametersOf(sft.architecture).toExponential(1)} parameters, more than ${mostParameters.toExponential(1)}`,
  ),
];

/** Sampling divides by the temperature; 0 is greedy, and what lies between only looks like it. */
const leastTemperature = 0.01;

const temperatures: Check = ({ es_manager, generation }) =>
  [
    { key: "generation.temperature", value: generation.temperature },
    { key: "es_manager.val.temperature", value: es_manager.val.temperature },
  ].flatMap(({ key, value }) =>
    when(
      value > 0 && value < leastTemperature,
      () => `${key}: ${value}: expected at least ${leastTemperature}; nearest: ${leastTemperature}`,
    ),
  );

/** Tags are names of metrics and columns of tables. */
const tagNames: Check = ({ custom_envs }) => {
  const unusable = Object.keys(custom_envs).filter(
    (tag) => tag === "" || tag.length > 128 || /[\p{Cc}\p{Cf}]/u.test(tag),
  );
  return unusable
    .slice(0, mostProblems)
    .map((tag) => `custom_envs: ${shown(tag)}: a tag has 1 to 128 characters and no control characters`);
};

/** A loss whose ratio is of a whole sequence is a mean over sequences. */
const policyLoss: Check = ({ actor: { loss_agg_mode, policy_loss } }) =>
  when(
    (policy_loss === "gspo" || policy_loss === "geo_mean") && loss_agg_mode !== "seq-mean-token-mean",
    () =>
      `actor.loss_agg_mode: ${loss_agg_mode}: actor.policy_loss=${policy_loss} is a mean over sequences; nearest: seq-mean-token-mean`,
  );

const responseMask: Check = ({ algorithm: { bi_level_gae, correction }, rollout }) => {
  if (rollout.enable_response_mask) return [];
  const line = (because: string) => `rollout.enable_response_mask: false: ${because}; nearest: true`;
  return [
    ...when(bi_level_gae || correction === "vtrace", () =>
      line(
        `${bi_level_gae ? "algorithm.bi_level_gae" : "algorithm.correction=vtrace"} ends a turn where its trained tokens end, and then they never do`,
      ),
    ),
    ...when(rollout.context !== "full", () =>
      line(`rollout.context=${rollout.context} shows turns again in later sequences, which would be trained on again`),
    ),
  ];
};

const divergence: Check = ({ actor, algorithm }) => {
  const { bi_level_gae, kl_ctrl, use_kl_in_reward } = algorithm;
  return [
    ...when(
      use_kl_in_reward && kl_ctrl.kl_coef === 0,
      () =>
        "algorithm.kl_ctrl.kl_coef: 0: algorithm.use_kl_in_reward has no effect, and an adaptive coefficient stays 0; nearest: 0.001",
    ),
    ...when(
      use_kl_in_reward && bi_level_gae,
      () =>
        "algorithm.use_kl_in_reward: true: algorithm.bi_level_gae passes rewards from turn to turn by their last tokens alone, and the divergence is a reward of every token; nearest: false, with actor.use_kl_loss",
    ),
    ...when(
      actor.ref_update_freq > 0 && !use_kl_in_reward && !actor.use_kl_loss,
      () =>
        `actor.ref_update_freq: ${actor.ref_update_freq}: without actor.use_kl_loss or algorithm.use_kl_in_reward there is no reference policy; nearest: 0`,
    ),
  ];
};

/** Token sequences that an episode is trained in, at most. */
const mostSequences = ({ context, max_turn, overflow, train_summary }: RunConfig["rollout"]): number =>
  context === "full" && overflow === "end" ? 1 : max_turn * (train_summary ? 2 : 1);

const context: Check = ({ reward, rollout }) => {
  const { context, max_context_window, max_model_len, overflow, summary, summary_length, train_summary } = rollout;
  return [
    ...when(
      max_context_window === 0,
      () => "rollout.max_context_window: 0: expected -1 (all turns) or at least 1, the turn itself; nearest: 1",
    ),
    ...when(
      summary !== "none" && context === "full" && overflow === "end",
      () =>
        `rollout.summary: ${summary}: no turn is ever out of sight with rollout.context=full and rollout.overflow=end; nearest: none`,
    ),
    ...when(
      summary === "policy" && summary_length >= max_model_len,
      () =>
        `rollout.summary_length: ${summary_length}: expected less than rollout.max_model_len (${max_model_len}); nearest: ${max_model_len - 1}`,
    ),
    ...when(
      train_summary && summary !== "policy",
      () =>
        `rollout.train_summary: true: the policy writes no summaries with rollout.summary=${summary}; nearest: false`,
    ),
    ...when(
      train_summary && reward.use_turn_scores,
      () =>
        "rollout.train_summary: true: with reward.use_turn_scores a summary has no reward of its own; nearest: false",
    ),
  ];
};

const thoughts: Check = ({ es_manager, rollout }) => {
  const { think_coord_fmt_penalty, think_len_limit, think_len_penalty, think_quality_penalty } = es_manager;
  const costs = { think_coord_fmt_penalty, think_len_penalty, think_quality_penalty };
  return [
    ...Object.entries(costs).flatMap(([key, cost]) =>
      when(
        cost > 0 && !rollout.enable_think,
        () => `es_manager.${key}: ${cost}: replies have no thoughts with rollout.enable_think=false; nearest: 0`,
      ),
    ),
    ...when(
      think_len_penalty > 0 && think_len_limit < 1,
      () =>
        `es_manager.think_len_penalty: ${think_len_penalty}: it needs es_manager.think_len_limit, a number of characters; nearest: 0`,
    ),
  ];
};

const capacity: Check = ({ actor, es_manager, generation, model, rollout }) => {
  const { env_groups, group_size } = es_manager.train;
  const slots = generation.slots * model.generator_threads;
  const episodes = env_groups * group_size;
  const sequences = episodes * mostSequences(rollout);
  const counted = sequences === episodes ? "" : `, ${sequences} token sequences at most`;
  return [
    ...when(
      slots < group_size,
      () =>
        `generation.slots: ${generation.slots}: a group of es_manager.train.group_size (${group_size}) does not fit; nearest: ${Math.ceil(group_size / model.generator_threads)}`,
    ),
    ...when(
      actor.ppo_mini_batch_size > sequences,
      () =>
        `actor.ppo_mini_batch_size: ${actor.ppo_mini_batch_size}: a window has ${episodes} episodes (${env_groups} groups of ${group_size})${counted}; nearest: ${sequences}`,
    ),
  ];
};

const cloned: Check = ({ sft }) =>
  when(
    sft.sources.length === 0 && sft.conversations.path === "",
    () => "sft.sources: []: nothing to clone; name a source, or conversations in sft.conversations.path",
  );

const analysis: Check = ({ trainer }) =>
  when(
    trainer.gradient_analysis_only && !trainer.gradient_analysis_mode,
    () =>
      "trainer.gradient_analysis_only: true: the run would do nothing without trainer.gradient_analysis_mode; nearest: false",
  );

const endpoints: Check = (config) =>
  endpointsOf(config).flatMap(({ entry, key, keys }) => {
    const known = Object.keys(config.evaluation.model_info);
    const registered = known.includes(keys.model);
    const plays = keys.kind !== "none" || registered;
    return [
      // The value may be the key itself, and is not repeated.
      ...when(
        !/^([A-Za-z_][A-Za-z0-9_]{0,63})?$/.test(keys.api_key_env),
        () => `${key}.api_key_env: expected the name of an environment variable that holds the key, not the key`,
      ),
      ...when(!plays && keys.model !== "", () => {
        const all =
          known.length === 0 ? "" : `, or a name of evaluation.model_info (${choices(keys.model, known, 20)})`;
        return `${key}.kind: none: ${shown(keys.model)} needs openai or anthropic${all}; nearest: openai`;
      }),
      ...when(
        plays && config.rollout.context !== "full",
        () =>
          `rollout.context: ${config.rollout.context}: an endpoint is shown its whole chat; nearest: full, or a checkpoint that plays`,
      ),
      ...when(plays && keys.model === "", () => `${key}.model: "": expected the model's name at the endpoint`),
      ...when(
        keys.budget_usd > 0 && keys.price_in === 0 && keys.price_out === 0,
        () => `${key}.budget_usd: ${keys.budget_usd}: needs price_in and price_out; nearest: 0`,
      ),
      ...when(
        keys.kind === "anthropic" && keys.omit.includes("max_tokens"),
        () => `${key}.omit: ["max_tokens"]: Anthropic's endpoint asks for it; nearest: []`,
      ),
      ...when(
        entry.path !== "" && Object.keys(entry.endpoint).length > 0,
        () => `${key}: a model with a path is a checkpoint, which has no endpoint; leave one of them out`,
      ),
    ];
  });

/** Folders of an evaluation are named after its players. */
const playerNames: Check = (config) => {
  const names = playersOf(config).map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return when(
    twice !== undefined,
    () => `evaluation.models: two models are called ${shown(twice)}; give each its own name`,
  );
};

const checks: readonly Check[] = [
  cloned,
  groups,
  tagNames,
  tags,
  temperatures,
  products,
  sampling,
  lengths,
  groupSize,
  ...creditChecks,
  policyLoss,
  responseMask,
  divergence,
  context,
  thoughts,
  capacity,
  strategies,
  refill,
  bestMetric,
  analysis,
  endpoints,
  playerNames,
];

export const check: Check = (config) => checks.flatMap((one) => one(config));
