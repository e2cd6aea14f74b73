/**
 * The players of an evaluation: a checkpoint, an endpoint or a list of models, with every open key filled in.
 * Secrets are not here, only the names of the variables that hold them.
 */
import { basename } from "node:path";
import type { RunConfig } from "./RunConfig.ts";
import type { EndpointKeys, EvaluatedModel, ModelInfo } from "./sections/EvaluationSection.ts";

export interface Checkpoint {
  readonly _tag: "Checkpoint";
  readonly name: string;
  readonly path: string;
  readonly temperature: number;
}

/** Fields of sampling that an agent may ask for. */
export const samplingFields = ["temperature", "topP", "topK", "seed", "stop"] as const;
export type SamplingField = (typeof samplingFields)[number];

export interface Endpoint {
  readonly _tag: "Endpoint";
  readonly name: string;
  readonly protocol: "openai" | "anthropic";
  /** Address without a trailing slash. */
  readonly baseUrl: string;
  /** Model name at the endpoint. */
  readonly model: string;
  /** Environment variable with the key; null sends none. */
  readonly keyVariable: string | null;
  readonly temperature: number;
  /** Most tokens of a reply. */
  readonly maxTokens: number;
  /** Tells which of the two fields requests contain. */
  readonly sentFields: { readonly temperature: boolean; readonly maxTokens: boolean };
  /** The fields that requests take over from an agent's calls: the run file neither sets nor omits them. */
  readonly agentFields: readonly SamplingField[];
  /** Further fields of requests. */
  readonly extraFields: Readonly<Record<string, unknown>>;
  readonly maxConcurrency: number;
  /** Rate limits; null is no limit. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly retryWaitMs: number;
  readonly failuresInARow: number;
  readonly budget: {
    /** Limits; null is no limit. */
    readonly tokens: number | null;
    readonly usd: number | null;
    /** US dollars per million tokens. */
    readonly prices: { readonly in: number; readonly out: number };
  };
}

export type Player = Checkpoint | Endpoint;

interface Provider {
  readonly protocol: Endpoint["protocol"];
  readonly baseUrl: string;
  readonly keyVariable: string;
}

const providers: Readonly<Record<ModelInfo["provider_name"], Provider>> = {
  openai: { protocol: "openai", baseUrl: "https://api.openai.com/v1", keyVariable: "OPENAI_API_KEY" },
  anthropic: { protocol: "anthropic", baseUrl: "https://api.anthropic.com", keyVariable: "ANTHROPIC_API_KEY" },
  together: { protocol: "openai", baseUrl: "https://api.together.xyz/v1", keyVariable: "TOGETHER_API_KEY" },
  deepseek: { protocol: "openai", baseUrl: "https://api.deepseek.com/v1", keyVariable: "DEEPSEEK_API_KEY" },
};

/** Returns the model's entry of `model_info`, undefined if the name is the endpoint's own. */
const modelInfo = ({ evaluation }: RunConfig, { model }: EndpointKeys): ModelInfo | undefined =>
  Object.hasOwn(evaluation.model_info, model) ? evaluation.model_info[model] : undefined;

const nullIf = <A>(value: A, nothing: A): A | null => (value === nothing ? null : value);

/** Returns the fields of a `model_info` entry that have no key of their own here. */
const extraOf = (info: ModelInfo | undefined): Readonly<Record<string, unknown>> => {
  if (info === undefined) return {};
  const { max_tokens, temperature, ...others } = info.generation_kwargs;
  return Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null));
};

/** Names of the fields of sampling in requests. Anthropic's messages call stop texts by the second name. */
const fieldNames: Readonly<Record<SamplingField, readonly string[]>> = {
  temperature: ["temperature"],
  topP: ["top_p"],
  topK: ["top_k"],
  seed: ["seed"],
  stop: ["stop", "stop_sequences"],
};

/** The fields of sampling that the run file neither sets nor omits. */
const fieldsLeftOpen = (
  omit: readonly string[],
  extra: Readonly<Record<string, unknown>>,
  isTemperatureSet: boolean,
): readonly SamplingField[] =>
  samplingFields.filter((field) => {
    const isOpen = fieldNames[field].every((name) => !omit.includes(name) && !Object.hasOwn(extra, name));
    return isOpen && !(field === "temperature" && isTemperatureSet);
  });

const endpointOf = (config: RunConfig, name: string, keys: EndpointKeys): Endpoint | null => {
  const info = modelInfo(config, keys);
  const kind = info?.provider_name ?? keys.kind;
  if (kind === "none") return null;
  const provider = providers[kind];
  const isProviderAddress = keys.base_url === "";
  const generation = info?.generation_kwargs;
  const extra = { ...extraOf(info), ...keys.extra_body };
  const renamed = typeof extra.max_completion_tokens === "number" ? extra.max_completion_tokens : null;
  const maxTokens = nullIf(keys.max_tokens, 0) ?? generation?.max_tokens ?? renamed ?? config.rollout.response_length;
  const temperature = keys.temperature ?? generation?.temperature ?? null;
  return {
    _tag: "Endpoint",
    name,
    protocol: provider.protocol,
    baseUrl: (isProviderAddress ? provider.baseUrl : keys.base_url).replace(/\/+$/, ""),
    model: info?.model_name ?? keys.model,
    keyVariable: nullIf(keys.api_key_env, "") ?? (isProviderAddress ? provider.keyVariable : null),
    temperature: temperature ?? config.es_manager.val.temperature,
    maxTokens,
    sentFields: {
      temperature: !keys.omit.includes("temperature"),
      maxTokens: !keys.omit.includes("max_tokens") && renamed === null,
    },
    agentFields: fieldsLeftOpen(keys.omit, extra, temperature !== null),
    extraFields: renamed === null ? extra : { ...extra, max_completion_tokens: maxTokens },
    maxConcurrency: keys.max_concurrency,
    requestsPerMinute: nullIf(keys.requests_per_minute, 0),
    tokensPerMinute: nullIf(keys.tokens_per_minute, 0),
    timeoutMs: keys.timeout_ms,
    retries: keys.retries,
    retryWaitMs: keys.retry_wait_ms,
    failuresInARow: keys.failures_in_a_row,
    budget: {
      tokens: nullIf(keys.budget_tokens, 0),
      usd: nullIf(keys.budget_usd, 0),
      prices: { in: keys.price_in, out: keys.price_out },
    },
  };
};

/** Turns a text into a valid folder name. */
const folderNameFrom = (text: string): string =>
  text.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+/, "") || "model";

/** Merges a model's endpoint keys over `evaluation.endpoint`. */
const endpointKeys = ({ evaluation }: RunConfig, { endpoint, temperature }: EvaluatedModel): EndpointKeys => ({
  ...evaluation.endpoint,
  ...endpoint,
  ...(temperature === null ? {} : { temperature }),
});

/** Makes a model's player, under its own name or the model's. */
const playerOf = (config: RunConfig, entry: EvaluatedModel): Player => {
  const keys = endpointKeys(config, entry);
  const path = entry.path === "" ? config.model.path : entry.path;
  const endpoint = entry.path === "" ? endpointOf(config, folderNameFrom(entry.name || keys.model), keys) : null;
  const temperature = entry.temperature ?? config.es_manager.val.temperature;
  return endpoint ?? { _tag: "Checkpoint", name: folderNameFrom(entry.name || basename(path)), path, temperature };
};

const unlistedModel: EvaluatedModel = { name: "", path: "", temperature: null, endpoint: {} };

/** Returns the players in order. Two of one name get their temperatures as suffixes. */
export const playersOf = (config: RunConfig): readonly Player[] => {
  const { models } = config.evaluation;
  const players = (models.length === 0 ? [unlistedModel] : models).map((entry) => playerOf(config, entry));
  const nameCounts = new Map<string, number>();
  for (const { name } of players) nameCounts.set(name, (nameCounts.get(name) ?? 0) + 1);
  return players.map((player) =>
    (nameCounts.get(player.name) ?? 0) > 1 ? { ...player, name: `${player.name}-t${player.temperature}` } : player,
  );
};

/** Returns the keys of each configured endpoint, with their path in the run file. */
export const endpointsOf = (
  config: RunConfig,
): readonly { readonly key: string; readonly keys: EndpointKeys; readonly entry: EvaluatedModel }[] => {
  const { models } = config.evaluation;
  if (models.length === 0)
    return [{ key: "evaluation.endpoint", keys: config.evaluation.endpoint, entry: unlistedModel }];
  return models.map((entry, index) => ({
    key: `evaluation.models.${index}.endpoint`,
    keys: endpointKeys(config, entry),
    entry,
  }));
};

/** Returns one run file per player, in order. */
export const singlePlayerConfigs = (config: RunConfig): readonly RunConfig[] => {
  const { es_manager, evaluation, model } = config;
  return endpointsOf(config).map(({ entry, keys }) => {
    const endpoint: EndpointKeys = entry.path === "" ? keys : { ...keys, kind: "none", model: "" };
    const temperature = entry.temperature ?? es_manager.val.temperature;
    return {
      ...config,
      model: { ...model, path: entry.path === "" ? model.path : entry.path },
      es_manager: { ...es_manager, val: { ...es_manager.val, temperature } },
      evaluation: { ...evaluation, endpoint, models: [] },
    };
  });
};
