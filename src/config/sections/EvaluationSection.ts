/** The sections `evaluation` and `output` of the run file: an evaluation's players and limits, and the copy of its episodes. */
import { Schema } from "effect";
import {
  between,
  concurrency,
  field,
  fileName,
  milliseconds,
  nonNegative,
  optionalPath,
  optionalUrl,
  section,
  tokensOrNone,
  whole,
} from "../field.ts";

const temperature = Schema.NullOr(between(0, 100));
const rate = whole(0, 1_000_000_000);

/** Types of an endpoint's keys. A model of `evaluation.models` may set each of them. */
const types = {
  kind: Schema.Literals(["none", "openai", "anthropic"]),
  base_url: optionalUrl,
  model: Schema.String,
  api_key_env: Schema.String,
  temperature,
  max_tokens: tokensOrNone,
  max_concurrency: concurrency,
  requests_per_minute: rate,
  tokens_per_minute: rate,
  // Node's fetch gives up on a silent server after 300 s.
  timeout_ms: whole(1, 300_000),
  retries: whole(0, 1_000),
  retry_wait_ms: milliseconds,
  failures_in_a_row: concurrency,
  budget_tokens: whole(0, 1_000_000_000_000),
  budget_usd: nonNegative,
  price_in: nonNegative,
  price_out: nonNegative,
  omit: Schema.Array(Schema.Literals(["temperature", "max_tokens", "top_p", "top_k", "seed", "stop"])),
  extra_body: Schema.Record(Schema.String, Schema.Unknown),
};

export const EndpointSection = Schema.Struct({
  kind: field(types.kind, "none", "Protocol of the chat endpoint; none plays the checkpoint in model.path."),
  base_url: field(
    types.base_url,
    "",
    "Endpoint's address, without /chat/completions or /v1/messages; empty is the provider's.",
  ),
  model: field(types.model, "", "The model's name at the endpoint, or a name of evaluation.model_info."),
  api_key_env: field(
    types.api_key_env,
    "",
    "Environment variable with the endpoint's key; empty is OPENAI_API_KEY or ANTHROPIC_API_KEY at the provider's own address, and no key elsewhere.",
  ),
  temperature: field(
    types.temperature,
    null,
    "Sampling temperature of the endpoint; null is that of an agent's call, or es_manager.val.temperature.",
  ),
  max_tokens: field(types.max_tokens, 0, "Most tokens of a reply; 0 is rollout.response_length."),
  max_concurrency: field(
    types.max_concurrency,
    16,
    "Episodes played at once, each with one request at a time unless an agent makes more.",
  ),
  requests_per_minute: field(types.requests_per_minute, 0, "Most requests per minute; 0 no limit."),
  tokens_per_minute: field(types.tokens_per_minute, 0, "Most tokens of prompts and replies per minute; 0 no limit."),
  timeout_ms: field(types.timeout_ms, 120_000, "Time after which a request is cancelled and tried again."),
  retries: field(types.retries, 6, "Further attempts after a request fails."),
  retry_wait_ms: field(
    types.retry_wait_ms,
    1_000,
    "Wait before the first retry; it doubles each time up to a minute, and half of it is random.",
  ),
  failures_in_a_row: field(
    types.failures_in_a_row,
    5,
    "Stop the evaluation after so many requests in a row failed all their attempts.",
  ),
  budget_tokens: field(types.budget_tokens, 0, "Most tokens of prompts and replies to spend; 0 no limit."),
  budget_usd: field(types.budget_usd, 0, "Most US dollars to spend, by price_in and price_out; 0 no limit."),
  price_in: field(types.price_in, 0, "Price of a million prompt tokens, in US dollars."),
  price_out: field(types.price_out, 0, "Price of a million reply tokens, in US dollars."),
  omit: field(
    types.omit,
    [],
    "Fields left out of requests: temperature, max_tokens; of an agent's also top_p, top_k, seed, stop.",
  ),
  extra_body: field(types.extra_body, {}, "Fields added to every request, under the endpoint's names."),
});
export type EndpointKeys = typeof EndpointSection.Type;

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(schema);

/** The keys of an endpoint that a model changes; `evaluation.endpoint` has the others. */
const EndpointChanges = Schema.Struct({
  kind: optional(types.kind),
  base_url: optional(types.base_url),
  model: optional(types.model),
  api_key_env: optional(types.api_key_env),
  temperature: optional(types.temperature),
  max_tokens: optional(types.max_tokens),
  max_concurrency: optional(types.max_concurrency),
  requests_per_minute: optional(types.requests_per_minute),
  tokens_per_minute: optional(types.tokens_per_minute),
  timeout_ms: optional(types.timeout_ms),
  retries: optional(types.retries),
  retry_wait_ms: optional(types.retry_wait_ms),
  failures_in_a_row: optional(types.failures_in_a_row),
  budget_tokens: optional(types.budget_tokens),
  budget_usd: optional(types.budget_usd),
  price_in: optional(types.price_in),
  price_out: optional(types.price_out),
  omit: optional(types.omit),
  extra_body: optional(types.extra_body),
});

const number = Schema.NullOr(between(-1_000_000, 1_000_000));

/** A model as RAGEN registers it. */
const ModelInfo = Schema.Struct({
  provider_name: Schema.Literals(["openai", "anthropic", "together", "deepseek"]).annotate({
    description: "Provider that serves the model.",
  }),
  model_name: Schema.NonEmptyString.annotate({ description: "Name of the model at its provider." }),
  generation_kwargs: section(
    Schema.Struct({
      temperature: field(
        temperature,
        null,
        "Sampling temperature of the model's requests, unless its endpoint sets one.",
      ),
      max_tokens: field(
        Schema.NullOr(tokensOrNone),
        null,
        "Most tokens of the model's replies, unless its endpoint sets them.",
      ),
      max_completion_tokens: field(
        Schema.NullOr(tokensOrNone),
        null,
        "Most tokens of the model's replies, for models that require this field's name.",
      ),
      top_p: field(number, null, "Nucleus sampling: keep the smallest set of tokens with this probability mass."),
      frequency_penalty: field(number, null, "Penalty that grows with a token's count in the reply."),
      presence_penalty: field(number, null, "Penalty of tokens that occurred in the reply."),
      seed: field(number, null, "Seed that is sent to the endpoint."),
    }),
    "Fields of the model's requests.",
  ),
});
export type ModelInfo = typeof ModelInfo.Type;

const ModelEntry = Schema.Struct({
  name: field(
    Schema.String,
    "",
    "Name of the player in tables; empty derives it from the model, and from its temperature if two are alike.",
  ),
  path: field(
    optionalPath,
    "",
    "Checkpoint folder, or a run as RUN or RUN@STEP; empty plays the endpoint, or model.path without one.",
  ),
  temperature: field(
    temperature,
    null,
    "Sampling temperature of this player; null is the endpoint's, or es_manager.val.temperature.",
  ),
  endpoint: field(EndpointChanges, {}, "Keys of evaluation.endpoint that differ for this model."),
});
export type EvaluatedModel = typeof ModelEntry.Type;

/** Most models of one evaluation. */
const maxModels = 256;

export const EvaluationSection = Schema.Struct({
  endpoint: section(EndpointSection, "A chat endpoint that plays in place of the checkpoint."),
  models: field(
    Schema.Array(ModelEntry).check(Schema.isMaxLength(maxModels)),
    [],
    "Models that play one after the other, with one table at the end; empty plays one.",
  ),
  model_info: field(Schema.Record(Schema.String, ModelInfo), {}, "Models under names of your own, in RAGEN's form."),
});

export const OutputSection = Schema.Struct({
  dir: field(
    optionalPath,
    "",
    "Folder for a copy of the episodes as JSON lines; empty leaves them in the evaluation's folder alone.",
  ),
  filename: field(fileName, "val_rollouts.jsonl", "Name of the copy; .pkl at its end becomes .jsonl."),
  format: field(Schema.Literals(["jsonl"]), "jsonl", "Format of the copy: JSON lines in OpenAI's message form."),
  append_timestamp: field(Schema.Boolean, true, "Put the evaluation's time into the name of the copy."),
});
