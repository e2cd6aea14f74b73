/**
 * The requests of vLLM 0.32: ids in and out over `/inference/v1/generate`. Whole weights are loaded from a folder between a pause that
 * keeps running requests and a resume; adapters are loaded by name. docs/remote.md has the flags that a server needs.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { PublishedVersion } from "../weights/Publisher.ts";
import type { Channel, ChannelRequest } from "./Channel.ts";
import type { LabelledSpan, RawPart } from "./checkPart.ts";
import type { Dialect, ServerContext, ServerRequest } from "./Dialect.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";
import {
  checkedPart,
  detectForgotten,
  listsAdapter,
  loadFromCounters,
  PROBE_TOKENS,
  unloadAdapterAt,
  VersionSpan,
  versionLabel,
} from "./sharedRequests.ts";
import { check } from "./vllmCheck.ts";

/** Largest size of one token in an answer, and of the answer beside its tokens, bytes. */
const TOKEN_BYTES = 2_048;
const ANSWER_BYTES = 2 ** 20;

const Logprob = Schema.Struct({ token_id: Schema.Number, logprob: Schema.NullOr(Schema.Number) });
const Token = Schema.Struct({ ...Logprob.fields, top_logprobs: Schema.optionalKey(Schema.Array(Logprob)) });
const Choice = Schema.Struct({
  token_ids: Schema.Array(Schema.Number),
  finish_reason: Schema.String,
  logprobs: Schema.Struct({ content: Schema.Array(Token) }),
  weight_versions: Schema.optionalKey(Schema.NullOr(Schema.Array(VersionSpan))),
});
export const Generated = Schema.Struct({ choices: Schema.Array(Choice) });
const WeightInfo = Schema.Struct({ weight_version: Schema.NullOr(Schema.String) });

/** Name of the model that a request asks for. */
const modelOf = ({ model, run, requirements }: ServerContext, version: Version): string =>
  requirements.kind === "adapter" ? versionLabel(run, version) : model;

const generateRequest = (server: ServerContext, request: ServerRequest): ChannelRequest => ({
  method: "POST",
  path: "/inference/v1/generate",
  timeout: "tokens",
  mostBytes: ANSWER_BYTES + request.maxTokens * TOKEN_BYTES,
  json: {
    request_id: request.id,
    model: modelOf(server, request.version),
    token_ids: Array.from(request.ids),
    // Salted by version: other weights' caches of the same prefix are not reused.
    cache_salt: versionLabel(server.run, request.cacheOf),
    sampling_params: {
      max_tokens: request.maxTokens,
      temperature: request.sampling.temperature,
      top_k: request.sampling.topK,
      top_p: request.sampling.topP,
      ...(request.seed === null ? {} : { seed: request.seed }),
      logprobs: 0,
      // Our own stops replace the model's end tokens.
      ignore_eos: true,
      stop_token_ids: request.stopIds,
      stop: request.stops,
      include_stop_str_in_output: true,
      skip_special_tokens: false,
    },
  },
});

const rawPart = (
  server: ServerContext,
  request: ServerRequest,
  { choices }: typeof Generated.Type,
): RawPart | ServerFailure => {
  const [choice] = choices;
  const nonsense = (what: string) =>
    serverFailure("nonsense", `${server.channel.name}: an answer cannot be used: ${what}`);
  if (choice === undefined) return nonsense("it has no choice");
  const { finish_reason: finish, logprobs, token_ids: ids, weight_versions } = choice;
  const { content } = logprobs;
  if (content.some(({ token_id }, index) => token_id !== ids[index]))
    return nonsense("its log-probabilities are of other tokens");
  const adapter: LabelledSpan = { version: versionLabel(server.run, request.version), start: 0, end: ids.length };
  const spans = server.requirements.kind === "adapter" ? [adapter] : weight_versions;
  if (spans === undefined || spans === null) return nonsense("it does not say which weights sampled its tokens");
  return { ids, finish, spans, logprobs: content.map(({ logprob }) => logprob ?? Number.NaN) };
};

const weightLabel = (channel: Channel) =>
  Effect.map(
    channel.requestDecoded({ method: "GET", path: "/weight_info" }, WeightInfo),
    (info) => info.weight_version,
  );

const hasVersion: Dialect["hasVersion"] = (server, version) =>
  server.requirements.kind === "adapter"
    ? listsAdapter(server, version)
    : Effect.map(weightLabel(server.channel), (label) => label === versionLabel(server.run, version));

const generate: Dialect["generate"] = Effect.fnUntraced(function* (server, request) {
  const generated = server.channel.requestDecoded(generateRequest(server, request), Generated);
  const reply = yield* Effect.catch(generated, detectForgotten(hasVersion, server, request.version));
  return yield* checkedPart(server, request, rawPart(server, request, reply));
});

const likeliestTokens: Dialect["likeliestTokens"] = (server, version, prompt, temperature) => {
  const json = {
    model: modelOf(server, version),
    token_ids: Array.from(prompt),
    cache_salt: `${versionLabel(server.run, version)}-probe`,
    sampling_params: { max_tokens: 1, temperature, logprobs: PROBE_TOKENS, ignore_eos: true },
  };
  const request: ChannelRequest = { method: "POST", path: "/inference/v1/generate", timeout: "tokens", json };
  return Effect.map(server.channel.requestDecoded(request, Generated), ({ choices }) => {
    const [token] = choices[0]?.logprobs.content ?? [];
    return new Map((token?.top_logprobs ?? []).map(({ logprob, token_id }) => [token_id, logprob ?? Number.NaN]));
  });
};

/** Swaps the weights under running requests, which continue with the new ones. */
const reload = Effect.fnUntraced(function* ({ channel, run }: ServerContext, { folder, version }: PublishedVersion) {
  const resume = channel.requestOk({ method: "POST", path: "/resume" });
  yield* channel.requestOk({ method: "POST", path: "/pause?mode=keep", timeout: "loading" });
  const swap = Effect.andThen(
    channel.requestOk({
      method: "POST",
      path: "/collective_rpc",
      timeout: "loading",
      json: { method: "reload_weights", kwargs: { weights_path: folder } },
    }),
    channel.requestOk({
      method: "POST",
      path: "/update_weight_version",
      json: { new_version: versionLabel(run, version) },
    }),
  );
  yield* Effect.onError(swap, () => Effect.ignore(resume));
  yield* resume;
});

const loadAdapter = Effect.fnUntraced(function* (server: ServerContext, { folder, version }: PublishedVersion) {
  if (yield* hasVersion(server, version)) return;
  const json = { lora_name: versionLabel(server.run, version), lora_path: folder };
  yield* server.channel.requestOk({ method: "POST", path: "/v1/load_lora_adapter", timeout: "loading", json });
});

const counters = {
  running: "vllm:num_requests_running",
  waiting: "vllm:num_requests_waiting",
  cache: "vllm:kv_cache_usage_perc",
  promptTokens: "vllm:prompt_tokens_total",
  cachedTokens: "vllm:prefix_cache_hits_total",
} as const;

export const vllm: Dialect = {
  pinsVersions: (kind) => kind === "adapter",
  check,
  generate,
  likeliestTokens,
  temperedFlag: "--logprobs-mode processed_logprobs",
  hasStartingWeights: (channel) => Effect.map(weightLabel(channel), (label) => label === "default"),
  hasVersion,
  adopt: (server, published) =>
    published.kind === "adapter" ? loadAdapter(server, published) : reload(server, published),
  unload: unloadAdapterAt("/v1/unload_lora_adapter"),
  fetchLoad: loadFromCounters(counters),
};
