/**
 * Checks the relations between keys of a decoded run file, which the schema of a single key cannot. Each problem is one line that names a
 * key, its value and the nearest valid one.
 */
import { byNearest, choices } from "./nearest.ts";
import { endpointsOf, playersOf } from "./players.ts";
import type { RunConfig } from "./RunConfig.ts";
import { mostProblems, shown, shownText } from "./shown.ts";

type Check = (config: RunConfig) => readonly string[];

const when = (condition: boolean, line: () => string): readonly string[] => (condition ? [line()] : []);

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

const groupSize: Check = ({ algorithm, es_manager, filter }) => {
  const size = es_manager.train.group_size;
  const spread = filter.metric === "reward_variance" || filter.metric === "entropy_variance";
  const keepsAll = filter.strategy === "top_p" && filter.value >= 1 && filter.include_zero;
  const line = (because: string) => `es_manager.train.group_size: ${size}: ${because}; nearest: 2`;
  return [
    ...when(size < 2 && algorithm.adv_estimator === "grpo", () =>
      line("algorithm.adv_estimator=grpo compares the episodes of a group and needs at least 2"),
    ),
    ...when(size < 2 && algorithm.adv_estimator !== "grpo" && spread && !keepsAll, () =>
      line(`filter.metric=${filter.metric} is a spread within a group and needs at least 2`),
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

const turns: Check = ({ algorithm: { adv_estimator, bi_level_gae } }) =>
  when(
    bi_level_gae && adv_estimator !== "gae",
    () =>
      `algorithm.bi_level_gae: true: it is a form of gae, and algorithm.adv_estimator is ${adv_estimator}; nearest: false`,
  );

const capacity: Check = ({ actor, es_manager, generation, model }) => {
  const { env_groups, group_size } = es_manager.train;
  const slots = generation.slots * model.generator_threads;
  const episodes = env_groups * group_size;
  return [
    ...when(
      slots < group_size,
      () =>
        `generation.slots: ${generation.slots}: a group of es_manager.train.group_size (${group_size}) does not fit; nearest: ${Math.ceil(group_size / model.generator_threads)}`,
    ),
    ...when(
      actor.ppo_mini_batch_size > episodes,
      () =>
        `actor.ppo_mini_batch_size: ${actor.ppo_mini_batch_size}: a window has ${episodes} episodes (${env_groups} groups of ${group_size}); nearest: ${episodes}`,
    ),
  ];
};

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
  groups,
  tagNames,
  tags,
  temperatures,
  products,
  sampling,
  lengths,
  groupSize,
  turns,
  capacity,
  endpoints,
  playerNames,
];

export const check: Check = (config) => checks.flatMap((one) => one(config));
