/**
 * vLLM's own words: token ids in and out over `/inference/v1/generate`; weights from a folder, between a pause that keeps running requests and a
 * resume, or as adapters by name. Written against 0.32; docs/remote.md has the flags that a server needs.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Published } from "../weights/Publisher.ts";
import type { LabelledSpan, Raw } from "./answer.ts";
import type { Channel } from "./Channel.ts";
import type { Ask, Dialect, Server } from "./Dialect.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";
import { labelOf } from "./versionNames.ts";
import { check } from "./vllmCheck.ts";
import { answerOf, forgetAt, listsAdapter, loadBy, NAMED, Span, whereForgotten } from "./wire.ts";

/** What the fields of one token of an answer take at most, and an answer beside its tokens; bytes. */
const TOKEN_BYTES = 2_048;
const ANSWER_BYTES = 2 ** 20;

const Logprob = Schema.Struct({ token_id: Schema.Number, logprob: Schema.NullOr(Schema.Number) });
const Token = Schema.Struct({ ...Logprob.fields, top_logprobs: Schema.optionalKey(Schema.Array(Logprob)) });
const Choice = Schema.Struct({
  token_ids: Schema.Array(Schema.Number),
  finish_reason: Schema.String,
  logprobs: Schema.Struct({ content: Schema.Array(Token) }),
  weight_versions: Schema.optionalKey(Schema.NullOr(Schema.Array(Span))),
});
export const Generated = Schema.Struct({ choices: Schema.Array(Choice) });
const WeightInfo = Schema.Struct({ weight_version: Schema.NullOr(Schema.String) });

/** The model's name in a request that a version answers. */
const modelOf = ({ model, run, wanted }: Server, version: Version): string =>
  wanted.kind === "adapter" ? labelOf(run, version) : model;

const question = (server: Server, ask: Ask) => ({
  method: "POST" as const,
  path: "/inference/v1/generate",
  pace: "tokens" as const,
  mostBytes: ANSWER_BYTES + ask.maxTokens * TOKEN_BYTES,
  json: {
    request_id: ask.id,
    model: modelOf(server, ask.version),
    token_ids: Array.from(ask.ids),
    // A prefix is not shared with one that other weights have computed.
    cache_salt: labelOf(server.run, ask.cacheOf),
    sampling_params: {
      max_tokens: ask.maxTokens,
      temperature: ask.sampling.temperature,
      top_k: ask.sampling.topK,
      top_p: ask.sampling.topP,
      ...(ask.seed === null ? {} : { seed: ask.seed }),
      logprobs: 0,
      // The model's own end tokens are ours to choose.
      ignore_eos: true,
      stop_token_ids: ask.stopIds,
      stop: ask.stops,
      include_stop_str_in_output: true,
      skip_special_tokens: false,
    },
  },
});

const rawOf = (server: Server, ask: Ask, { choices }: typeof Generated.Type): Raw | ServerFailure => {
  const [choice] = choices;
  const nonsense = (what: string) => failed("nonsense", `${server.channel.name}: an answer cannot be used: ${what}`);
  if (choice === undefined) return nonsense("it has no choice");
  const { finish_reason: finish, logprobs, token_ids: ids, weight_versions } = choice;
  const { content } = logprobs;
  if (content.some(({ token_id }, index) => token_id !== ids[index]))
    return nonsense("its log-probabilities are of other tokens");
  const adapter: LabelledSpan = { version: labelOf(server.run, ask.version), start: 0, end: ids.length };
  const spans = server.wanted.kind === "adapter" ? [adapter] : weight_versions;
  if (spans === undefined || spans === null) return nonsense("it does not say which weights sampled its tokens");
  return { ids, finish, spans, logprobs: content.map(({ logprob }) => logprob ?? Number.NaN) };
};

const label = (channel: Channel) =>
  Effect.map(channel.get({ method: "GET", path: "/weight_info" }, WeightInfo), (info) => info.weight_version);

const has: Dialect["has"] = (server, version) =>
  server.wanted.kind === "adapter"
    ? listsAdapter(server, version)
    : Effect.map(label(server.channel), (found) => found === labelOf(server.run, version));

const generate: Dialect["generate"] = Effect.fnUntraced(function* (server, ask) {
  const generated = server.channel.get(question(server, ask), Generated);
  const found = yield* Effect.catch(generated, whereForgotten(has, server, ask.version));
  return yield* answerOf(server, ask, rawOf(server, ask, found));
});

const likeliest: Dialect["likeliest"] = (server, version, prompt, temperature) => {
  const json = {
    model: modelOf(server, version),
    token_ids: Array.from(prompt),
    cache_salt: `${labelOf(server.run, version)}-probe`,
    sampling_params: { max_tokens: 1, temperature, logprobs: NAMED, ignore_eos: true },
  };
  const asked = { method: "POST", path: "/inference/v1/generate", pace: "tokens", json } as const;
  return Effect.map(server.channel.get(asked, Generated), ({ choices }) => {
    const [token] = choices[0]?.logprobs.content ?? [];
    return new Map((token?.top_logprobs ?? []).map(({ logprob, token_id }) => [token_id, logprob ?? Number.NaN]));
  });
};

/** Swaps the weights while running requests are kept; they go on under the new ones. */
const reload = Effect.fnUntraced(function* ({ channel, run }: Server, { folder, version }: Published) {
  const resume = channel.tell({ method: "POST", path: "/resume" });
  yield* channel.tell({ method: "POST", path: "/pause?mode=keep", pace: "loading" });
  const swap = Effect.andThen(
    channel.tell({
      method: "POST",
      path: "/collective_rpc",
      pace: "loading",
      json: { method: "reload_weights", kwargs: { weights_path: folder } },
    }),
    channel.tell({ method: "POST", path: "/update_weight_version", json: { new_version: labelOf(run, version) } }),
  );
  yield* Effect.onError(swap, () => Effect.ignore(resume));
  yield* resume;
});

const loadAdapter = Effect.fnUntraced(function* (server: Server, { folder, version }: Published) {
  if (yield* has(server, version)) return;
  const json = { lora_name: labelOf(server.run, version), lora_path: folder };
  yield* server.channel.tell({ method: "POST", path: "/v1/load_lora_adapter", pace: "loading", json });
});

const counters = {
  running: "vllm:num_requests_running",
  waiting: "vllm:num_requests_waiting",
  cache: "vllm:kv_cache_usage_perc",
  promptTokens: "vllm:prompt_tokens_total",
  cachedTokens: "vllm:prefix_cache_hits_total",
} as const;

export const vllm: Dialect = {
  pins: (kind) => kind === "adapter",
  check,
  generate,
  likeliest,
  temperedBy: "--logprobs-mode processed_logprobs",
  untouched: (channel) => Effect.map(label(channel), (found) => found === "default"),
  has,
  adopt: (server, published) =>
    published.kind === "adapter" ? loadAdapter(server, published) : reload(server, published),
  forget: forgetAt("/v1/unload_lora_adapter"),
  load: loadBy(counters),
};
