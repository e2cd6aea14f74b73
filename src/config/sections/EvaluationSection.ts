/** The sections `evaluation` and `output` of the run file: who plays an evaluation, under which limits, and where its episodes are written. */
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

/** The types of an endpoint's keys, which a model of `evaluation.models` may set one by one. */
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
  omit: Schema.Array(Schema.Literals(["temperature", "max_tokens"])),
  extra_body: Schema.Record(Schema.String, Schema.Unknown),
};

export const EndpointSection = Schema.Struct({
  kind: field(types.kind, "none", "Protocol of the endpoint that plays; none plays the checkpoint model.path."),
  base_url: field(types.base_url, "", "Address before /chat/completions or /v1/messages; empty is the provider's own."),
  model: field(types.model, "", "The model's name at the endpoint, or a name of evaluation.model_info."),
  api_key_env: field(
    types.api_key_env,
    "",
    "Environment variable with the key; empty is OPENAI_API_KEY or ANTHROPIC_API_KEY at the provider's own address, and no key elsewhere.",
  ),
  temperature: field(types.temperature, null, "Sampling temperature; null is es_manager.val.temperature."),
  max_tokens: field(types.max_tokens, 0, "Tokens of a reply; 0 is rollout.response_length."),
  max_concurrency: field(types.max_concurrency, 16, "Episodes, and so requests, at once."),
  requests_per_minute: field(types.requests_per_minute, 0, "Rate of requests; 0 no limit."),
  tokens_per_minute: field(types.tokens_per_minute, 0, "Rate of tokens, of prompts and replies; 0 no limit."),
  timeout_ms: field(types.timeout_ms, 120_000, "A request slower than this is tried again."),
  retries: field(types.retries, 6, "Further attempts of a request that failed."),
  retry_wait_ms: field(
    types.retry_wait_ms,
    1_000,
    "Wait before the first of them, doubled each time up to a minute, half of it at random.",
  ),
  failures_in_a_row: field(
    types.failures_in_a_row,
    5,
    "Stop after so many requests in a row failed all their attempts.",
  ),
  budget_tokens: field(types.budget_tokens, 0, "Tokens of prompts and replies to spend at most; 0 no limit."),
  budget_usd: field(types.budget_usd, 0, "US dollars to spend at most, by price_in and price_out; 0 no limit."),
  price_in: field(types.price_in, 0, "US dollars of a million prompt tokens."),
  price_out: field(types.price_out, 0, "US dollars of a million tokens of replies."),
  omit: field(types.omit, [], "Fields that requests leave out: temperature, max_tokens."),
  extra_body: field(types.extra_body, {}, "Further fields of every request, as the endpoint names them."),
});
export type EndpointKeys = typeof EndpointSection.Type;

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(schema);

/** Keys of an endpoint that are given; the others are those of `evaluation.endpoint`. */
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
    description: "Who serves the model.",
  }),
  model_name: Schema.NonEmptyString.annotate({ description: "The model's name there." }),
  generation_kwargs: section(
    Schema.Struct({
      temperature: field(temperature, null, "Sampling temperature."),
      max_tokens: field(Schema.NullOr(tokensOrNone), null, "Tokens of a reply."),
      max_completion_tokens: field(
        Schema.NullOr(tokensOrNone),
        null,
        "The same, under the name that some models ask for.",
      ),
      top_p: field(number, null, "Smallest set of tokens with this mass."),
      frequency_penalty: field(number, null, "Penalty of repeated tokens."),
      presence_penalty: field(number, null, "Penalty of tokens that occurred."),
      seed: field(number, null, "The endpoint's own seed."),
    }),
    "Fields of the requests.",
  ),
});
export type ModelInfo = typeof ModelInfo.Type;

const ModelEntry = Schema.Struct({
  name: field(Schema.String, "", "Name in tables; empty is made of the model and its temperature."),
  path: field(
    optionalPath,
    "",
    "A checkpoint, or a run as RUN or RUN@STEP; empty plays the endpoint, or model.path where there is none.",
  ),
  temperature: field(temperature, null, "Sampling temperature; null as without this list."),
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
  model_info: field(
    Schema.Record(Schema.String, ModelInfo),
    {},
    "Models by a name of one's own, as RAGEN registers them.",
  ),
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
